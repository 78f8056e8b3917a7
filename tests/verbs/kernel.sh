#!/usr/bin/env bash
# What guest.sh boots, in DIRECTORY: Debian's own kernel, the modules that a guest may load, and an initial file system that
# mounts this host's files. A second call finds nothing to do. Status 1 and the reason where it cannot be had.
#
#   kernel.sh DIRECTORY
#
#   DIRECTORY/kernel      the kernel, unpacked: under emulation that takes longer than all the rest of a boot
#             modules/    lib/modules/RELEASE, as modprobe -d wants it
#             initrd      busybox, guest_init.sh and what it needs to reach the files of the host
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
directory=$1
PATH=$PATH:/usr/sbin:/sbin  # modprobe and depmod need no rights here
boot_modules=(virtio_pci 9pnet_virtio 9p overlay)

cannot() { echo "$*" >&2; exit 1; }

# lacking PROGRAM …: those of them that are not here.
lacking() { local name; for name in "$@"; do command -v "$name" >/dev/null || echo "$name"; done; }

# The release that Debian's package linux-image-amd64 stands for.
release_of_debian() { apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: linux-image-//p' | head -n 1; }

# download_kernel: its package, into the working directory; $release is then known.
download_kernel() {
  release=$(release_of_debian)
  [ -n "$release" ] || { echo "apt knows no package linux-image-amd64" >apt.log; return 1; }
  # apt's own user may be unable to write here, which apt warns about.
  apt-get download -qq -o Acquire::Retries=3 "linux-image-$release" 2>apt.log
}

# A bzImage holds the kernel as one compressed stream; where, its header says (Documentation/arch/x86/boot.rst).
unpack_kernel() {  # BZIMAGE
  number() { od -An -v -tu"$2" -j "$1" -N "$2" "$image" | tr -d ' '; }
  local image=$1 sectors offset length
  sectors=$(number 0x1f1 1) offset=$(number 0x248 4) length=$(number 0x24c 4)
  # Behind the stream stands its size, which xz would take for garbage.
  tail -c +$(((sectors + 1) * 512 + offset + 1)) "$image" | head -c "$length" | xz --decompress --single-stream --stdout
}

# Modules for soft RDMA, for networks that lose packets and for the host's files; the whole would be 400 MB.
unpack_package() {  # PACKAGE RELEASE: into the working directory
  local folder=./lib/modules/$2/kernel
  dpkg-deb --fsys-tarfile "$1" | tar -x --wildcards ./boot/'vmlinuz-*' ./lib/modules/"$2"/'modules.*' \
    "$folder"/{arch,crypto,lib,net,fs/{9p,configfs,fscache,netfs,overlayfs}} \
    "$folder"/drivers/{virtio,net/veth.ko,infiniband/{core,sw}}
}

write_initrd() {  # MODULES RELEASE: to standard output
  local root module
  root=$(mktemp -d "$directory/initrd.XXXXXX")
  mkdir -p "$root"/{bin,modules,proc,sys,dev,job,host,changes,root}
  cp "$(command -v busybox)" "$root/bin/"
  cp "$here/guest_init.sh" "$root/init"
  chmod +x "$root/init"
  for module in "${boot_modules[@]}"; do
    modprobe -d "$1" -S "$2" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
  done | awk '!seen[$0]++' >"$root/modules/paths"
  while read -r module; do cp "$module" "$root/modules/"; done <"$root/modules/paths"
  sed -i 's|.*/||' "$root/modules/paths"
  (cd "$root" && find . | cpio -o -H newc --quiet)
  rm -rf "$root"
}

missing=$(lacking qemu-system-x86_64 dpkg-deb apt-get modprobe depmod cpio busybox xz)
[ -z "$missing" ] || cannot "there is no" $missing
[ "$(dpkg --print-architecture)" = amd64 ] || cannot "the guest is an amd64 machine"
mkdir -p "$directory"
if [ ! -e "$directory/kernel" ]; then
  rm -rf "$directory"/{new,initrd.*}
  mkdir "$directory/new"
  cd "$directory/new"
  # Its lists may be missing, or name a package that its mirror has replaced since.
  download_kernel || { apt-get update -qq >apt.log 2>&1 && download_kernel; } || cannot "cannot download Debian's kernel:" $(cat apt.log)
  unpack_package linux-image-*.deb "$release"
  depmod -b . "$release"
  unpack_kernel "boot/vmlinuz-$release" >../kernel.new
  echo "$release" >lib/modules/release
  rm -rf ../modules linux-image-*.deb boot
  cd ..
  mv new modules
  mv kernel.new kernel
fi
release=$(cat "$directory/modules/lib/modules/release")
if [ ! -e "$directory/initrd" ] || [ -n "$(find "$here"/{kernel,guest_init}.sh -newer "$directory/initrd")" ]; then
  write_initrd "$directory/modules" "$release" >"$directory/initrd.new"
  mv "$directory/initrd.new" "$directory/initrd"
fi
