#!/usr/bin/env bash
# Writes the manual page of a tenax in roff: commands and options as its --help says them, and what a page has besides.
#
#   bash man_page.sh TENAX >tenax.1
set -euo pipefail
export LC_ALL=C
tenax=$1

escaped() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"; }
verbatim() { printf '.nf\n'; escaped; printf '.fi\n'; }
# Usage lines without the word, and with no more indentation than shows that a line goes on.
usage_of() { sed -e 's/^usage: //' -e 's/^       //' | verbatim; }

help=$("$tenax" --help)
version=$("$tenax" --version | head -n 1)
commands=$(sed -n 's/^ *tenax \([a-z]*\) .*/\1/p' <<<"$help" | awk '!seen[$0]++')

printf '.TH TENAX 1 "" "%s" "User Commands"\n' "$(escaped <<<"$version")"
cat <<'ROFF'
.SH NAME
tenax \- pre\-trains GPT models on supercomputers, under MPI
.SH SYNOPSIS
ROFF
sed -n '/^usage:/p; /^       tenax/,/^$/p' <<<"$help" | sed '/^$/d' | usage_of
cat <<'ROFF'
.SH DESCRIPTION
.B tenax
trains a GPT\-2 of any size, as a deck (a TOML file) describes it, on as many MPI ranks as the deck's tensor, pipeline and
data parallel sizes multiply to. Pipelines adapt to slow links while they train. Its other commands run in one process: they
plan such runs, make their data, sample and score checkpoints, convert them, and show what a run did.
.PP
.I section.key=value
replaces a key of the deck for one run, and is read as that key's type: strings need no quotes, lists stand in brackets;
.I inject.0.delay_ms=30
is a key of the first [[inject]] section. Files named in a deck are relative to the deck, output_dir to the working folder.
Every key, with default, range and unit:
.BR "tenax \-\-deck\-help" .
.SH COMMANDS
ROFF
for command in $commands; do
  text=$("$tenax" "$command" --help)
  printf '.SS %s\n' "$command"
  sed '/^$/,$d' <<<"$text" | usage_of
  printf '.PP\n'
  sed '1,/^$/d' <<<"$text" | escaped
done
cat <<'ROFF'
.SH OPTIONS
.TP
.BR \-\-help ", " help
What there is, in short.
.TP
.IB COMMAND " \-\-help\fR, " "\fBhelp " COMMAND
One command and its options.
.TP
.B \-\-deck\-help
Every key of a deck, with type, range, unit, default and a sentence.
.TP
.B \-\-version
The version, and the back ends that were compiled in.
.TP
.BI \-\-completion " bash\fR|\fPzsh"
A completion script. Installed ones are found by themselves; others by
.B source <(tenax \-\-completion bash)
.SH FILES
.TP
.I runs/<name>
The directory of a run (run.output_dir):
.I deck.toml
(the resolved deck),
.I metrics.jsonl
(an object a step),
.I events.jsonl
(what happened),
.I checkpoints/step\-NNNNNN.h5
(complete, or absent),
.I trace.json
(the last profiled step, for Perfetto).
.TP
.I share/tenax/inputs
Decks that come with tenax, below the folder that it was installed into; reference.toml has every key.
.SH ENVIRONMENT
.TP
.BR OMPI_COMM_WORLD_RANK ", " PMIX_RANK ", " PMI_RANK ", " SLURM_STEP_ID ", " SLURM_PROCID
By these a process knows that mpirun or srun started it.
.TP
.B CUDA_VISIBLE_DEVICES
The GPUs that may be used, as for any program.
.TP
.B NCCL_HOSTID
Ranks where it differs count as on different hosts.
.PP
What MPI is told in other ways (OMPI_MCA_*, OMPI_ALLOW_RUN_AS_ROOT) is its own documentation's.
.SH EXIT STATUS
.TP
.B 0
done, or stopped on request
.TP
.B 1
this machine, a file or the network cannot, or the run failed
.TP
.B 2
the deck or the command line is wrong
.TP
.B 3
stopped to be started again elsewhere (mitigate.restart = "exit"): a checkpoint is written, and exclude_hosts.txt in the
run directory names the slow hosts, one a line
.TP
.B 137
a rank was killed (SIGKILL, by the kernel for want of memory perhaps)
.PP
An error is one line on stderr, from one rank: DECK:LINE:COLUMN: or command line: and what is wrong, else tenax: and what
to do.
.SH SIGNALS
.TP
.BR SIGUSR1 ", " SIGTERM
to a training rank: a checkpoint at the next step, then status 0. mpirun forwards SIGUSR1; of SIGTERM it kills the ranks a
second later.
.SH EXAMPLES
.TP
.B tenax plan deck.toml
What each rank of a run would hold, send and compute.
.TP
.B mpirun \-n 4 tenax deck.toml run.train_steps=50
Trains, by four ranks.
.TP
.B srun \-\-mpi=pmix \-n 64 tenax deck.toml
The same inside an allocation of Slurm.
.TP
.B pkill \-USR1 \-x """mpirun|prterun"""
Has the run checkpoint and end; the first command continues it.
.TP
.B tenax generate runs/deck \-\-prompt """Once upon a time"""
A sample of the run's newest checkpoint.
.TP
.B tenax tokenize *.txt \-\-out train.h5 \-\-tokenizer gpt2 \-\-vocab gpt2
A token file, with the vocabulary in the folder gpt2.
.SH SEE ALSO
.BR mpirun (1),
.BR srun (1)
ROFF
