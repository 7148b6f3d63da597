"""The kernels on packed bits compile for every architecture without a GPU, spill nothing, and use the tensor cores."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from compiling import ARCHITECTURES, require_nvrtc

from semiring.kernels.cuda import compile
from semiring.kernels.cuda.bits import product as bitproduct

require_nvrtc()

PRODUCTS = [
    (name, arch + product.suffix)
    for name, product in bitproduct.PRODUCTS.items()
    for arch in ARCHITECTURES
    if arch == "sm_90" or not product.suffix
]


def binary(name, arch):
    product = bitproduct.PRODUCTS[name]
    return compile.compile(product.text, arch, name=product.file)


def check(resources):
    for entry, used in resources.items():
        assert used.registers > 0, entry
        assert used.spill_stores == used.spill_loads == used.stack == 0, (entry, used)


@pytest.mark.compile
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_helpers_compile_without_spilling(arch):
    found = compile.compile(compile.source("bits.cu"), arch, name="bits.cu").resources
    assert {"pack", "unpack", "transpose", "set_bits", "count_rows", "list_columns", "step", "panel"} <= set(found)
    check(found)


@pytest.mark.compile
@pytest.mark.parametrize(("name", "arch"), PRODUCTS)
def test_products_compile_without_spilling(name, arch):
    check(binary(name, arch).resources)


def test_products_fit_their_multiprocessor():
    kilobytes = {"wgmma": 227, "mma": 99}  # of shared memory a block: 9.0, and the least of all 8.x
    for name, limit in kilobytes.items():
        assert bitproduct.PRODUCTS[name].shared <= limit << 10
    # A product by wgmma has all registers of a multiprocessor for its 288 threads.
    assert binary("wgmma", "sm_90a").resources["product"].registers * 288 <= 1 << 16


@pytest.mark.parametrize(("name", "arch", "instruction"), [("wgmma", "sm_90a", "BGMMA"), ("mma", "sm_80", "BMMA")])
def test_products_use_the_tensor_cores(name, arch, instruction, tmp_path):
    tool = shutil.which("nvdisasm") or shutil.which("cuobjdump")
    if tool is None:
        pytest.skip("neither nvdisasm nor cuobjdump is on the PATH")
    file = tmp_path / "product.cubin"
    file.write_bytes(binary(name, arch).cubin)
    option = ["-c"] if "nvdisasm" in tool else ["-sass"]
    listing = subprocess.run([tool, *option, str(file)], capture_output=True, text=True, check=False)
    if listing.returncode:
        pytest.skip(f"{tool} does not know this file: {listing.stderr.strip()}")
    assert instruction in listing.stdout
    assert "LDL" not in listing.stdout
