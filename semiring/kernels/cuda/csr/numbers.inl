// Row starts or indices in 64 or 32 bits.
struct Numbers {
    const void* at;
    int wide;
    __device__ long long operator[](long long i) const {
        return wide ? static_cast<const long long*>(at)[i] : static_cast<const int*>(at)[i];
    }
};
