#!/usr/bin/env bash
# Runs the tests of simd and simd/crc with AVX-512 on any x86-64 machine: the
# emulator Bochs is an Ice Lake that boots Debian's kernel, and its init runs
# the test binaries (internal/ci/guest). Only the avx512 tier is checked; a
# real processor is faster at the others.
#
#   ./avx512.sh                      all tests in their short form
#   ./avx512.sh -test.short=false    all lengths at all alignments, twice as long
#   ./avx512.sh -test.run=Guarded    other flags for the test binaries
#   GOEXPERIMENT=simd ./avx512.sh -test.run=Backend    the VBMI form in simd/archsimd
#
# AVX512_TIMEOUT is its limit in seconds, 1800 unless told. It ends with 0 when
# all passed, with 1 when a test failed or the tier was another, and with 3 and
# one line when Debian's packages can not be had. It installs the emulator if
# need be (root); the kernel is unpacked, not installed.
set -euo pipefail
cd "$(dirname "$0")"
export GOWORK=off CGO_ENABLED=0 LC_ALL=C
scratch=$(mktemp -d)
emulator=
trap '[ -z "$emulator" ] || kill "$emulator" 2>/dev/null || true; rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM

missing() { echo "left out: the tests with AVX-512, which need $1"; exit 3; }

log=$scratch/log
packages=(bochs bochs-term isolinux syslinux-common xorriso cpio)
if ! dpkg -s "${packages[@]}" >"$log" 2>&1; then
	{ apt-get update && apt-get install -y --no-install-recommends "${packages[@]}"; } >"$log" 2>&1 ||
		missing "Debian's packages ${packages[*]}"
fi
kernel=$(apt-cache depends linux-image-cloud-amd64 2>"$log" | sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p' | head -n 1)
[ -n "$kernel" ] && (cd "$scratch" && apt-get download "$kernel" && dpkg-deb -x linux-image-*.deb kernel) >"$log" 2>&1 ||
	missing "Debian's package linux-image-cloud-amd64 (apt-get update)"

# What init needs is all in the initial file system.
root=$scratch/root
mkdir -p "$root/tests" "$scratch/iso"
go build -ldflags=-s -o "$root/init" ./internal/ci/guest
for package in . ./crc; do
	go test -c -ldflags=-s -o "$root/tests/" $package
done
printf '%s\n' -test.v -test.short "$@" >"$root/flags"
(cd "$root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$scratch/iso/initrd"

# clearcpuid: Bochs 2.7 tells a size of the compacted registers, with or without
#   protection keys, that the kernel refuses, and AVX with it; and it tells of
#   short fast copies but not of long ones, with which memmove goes astray.
# GODEBUG (for init): without it Go's collector, whose scan uses AVX-512, marks
#   free objects in Bochs, with a test of Go's own. The kernels are not concerned.
cp "$scratch"/kernel/boot/vmlinuz-* "$scratch/iso/vmlinuz"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$scratch/iso"
cat >"$scratch/iso/isolinux.cfg" <<'CFG'
default tests
label tests
	kernel vmlinuz
	append initrd=initrd console=ttyS0 quiet loglevel=1 mitigations=off clearcpuid=pku,xsaves,xsavec,fsrm tsc=reliable GODEBUG=cpu.avx512vl=off SIMDTEST_TIERS=top
CFG
# What follows an equals sign here is in the environment of init, which is the tests.
[ -z "${SIMDTEST_LENGTHS:-}" ] || sed -i "/append/s/\$/ SIMDTEST_LENGTHS=$SIMDTEST_LENGTHS/" "$scratch/iso/isolinux.cfg"
xorriso -as mkisofs -quiet -o "$scratch/boot.iso" -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table "$scratch/iso" >"$log" 2>&1 ||
	{ cat "$log"; exit 1; }

cat >"$scratch/bochsrc" <<CFG
display_library: term
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
cpu: model=corei7_icelake_u, ips=100000000, reset_on_triple_fault=0, ignore_bad_msrs=1
clock: sync=none
memory: guest=512, host=512
ata0-master: type=cdrom, path=$scratch/boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$scratch/serial
panic: action=fatal
error: action=ignore
info: action=ignore
log: $log
CFG
# Debian's Bochs stops in its debugger first. How it ends tells nothing: with 1,
# or a fault of its own, after a power-off.
printf 'continue\nquit\n' >"$scratch/commands"
TERM=vt100 timeout -k 5 "${AVX512_TIMEOUT:-1800}" bochs -q -f "$scratch/bochsrc" -rc "$scratch/commands" </dev/null >"$scratch/screen" 2>&1 &
emulator=$!
{ wait "$emulator"; } 2>/dev/null || true

[ -f "$scratch/serial" ] || { cat "$scratch/screen"; exit 1; }
tr -d '\r' <"$scratch/serial" | sed -n '/^tier /,$p' >"$scratch/result"
grep -v '^=== ' "$scratch/result" || true
if ! grep -qx 'tier avx512' "$scratch/result"; then
	echo "avx512.sh: the emulated machine did not start the tests with AVX-512; its console:"
	cat "$scratch/serial"
	exit 1
fi
if ! grep -qx 'guest: all passed' "$scratch/result"; then
	echo "avx512.sh: not all tests passed; the last one that started: $(grep '^=== RUN' "$scratch/result" | tail -n 1)"
	exit 1
fi
