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
graph=$1 n=${2:-} ranks=${SLURM_NTASKS:-8}
rows=$((2 - ranks % 2)) # 1 of an odd number
columns=$((ranks / rows))
# Column strips of a row of ranks, and row panels of a column, where there are others.
parts=$(((columns > 1) * columns + (rows > 1) * rows))
echo "$ranks ranks as $rows x $columns${n:+; each receives $((4 * n * n * parts / ranks / 1000000)) MB of $n x $n numbers of 4 bytes}"
srun apsp solve "$graph" --distributed --grid "${rows}x$columns" --checkpoint "${SLURM_SUBMIT_DIR:-.}/ck" --checksum
