#!/bin/sh
# A job for Slurm: sbatch examples/lab/job.sh graph.npz 12500
#SBATCH --job-name=apsp
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=4
#SBATCH --time=00:30:00
#SBATCH --output=apsp-%j.txt
# With GPUs: #SBATCH --gpus-per-node=4. The environment that has the package must be active, on a file system that all
# nodes see; so must the checkpoint be, from which the next job continues when the time is over.
set -eu
graph=$1 n=${2:-0} ranks=${SLURM_NTASKS:-8} rows=2
columns=$((ranks / rows))
echo "$ranks ranks as $rows x $columns; each receives $((4 * n * n * (rows + columns) / (rows * columns) / 1000000)) MB of $n x $n numbers of 4 bytes"
srun apsp solve "$graph" --distributed --grid "${rows}x$columns" --checkpoint "${SLURM_SUBMIT_DIR:-.}/ck" --checksum
