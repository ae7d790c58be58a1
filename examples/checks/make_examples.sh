#!/bin/sh
# Make the example logs, netlists, SPEFs and reports again. Needs Debian's yosys (0.23), opensta (2.0.17) and python3.
# usage: make_examples.sh [OUT]        OUT: default data/updown beside this script; equal tools give equal bytes
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/data/updown}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/make/*.py "$here"/make/*.ys "$here"/make/updown.v "$here"/make/sta/* "$work"
cd "$work"

# Library, synthesis, "routed" netlists: header as a block, as one line above the older tool's, none at all.
python3 write_liberty.py > example_tt.lib
yosys -q synth.ys
python3 loom.py updown_synth.v block > updown_routed.v
python3 loom.py updown_synth.v line keep | gzip -n9 > updown_release.v.gz
python3 loom.py updown_synth.v none > updown_eco.v

# Parasitics: complete, compressed, one to be archived away, and a fast corner with two blank directives.
yosys -q connectivity.ys
python3 write_spef.py updown_routed.json 1.0 > updown.spef
cp updown.spef updown_archived.spef
gzip -n9 < updown.spef > updown_release.spef.gz
python3 write_spef.py updown_routed.json 0.6 DATE VERSION > updown_fast.spef

# `source -echo` puts every command into the log. HOME is moved because sta writes its history there.
for run in signoff eco post_synth spef_missing archived corners release tight; do
    echo "source -echo $run.tcl" > driver.tcl
    HOME=$work sta -no_init -exit driver.tcl < /dev/null > "sta_$run.log" 2>&1
done

rm updown_archived.spef    # loaded then, gone today
mkdir -p "$out"
cp example_tt.lib updown*.sdc updown_*.v updown_*.gz updown*.spef sta_*.log setup_*.rpt hold_*.rpt "$out"
