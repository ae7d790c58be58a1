#!/usr/bin/env bash
# Runs a command in a root folder as on a machine of its own. scripts/fresh.py calls it, as the first process of new
# mount and pid namespaces: all mounts and all processes end with it.
#   fresh-enter.sh ROOT USER open|closed SHARED... -- COMMAND...
# SHARED folders of this machine are readable there under their own names. `closed` forbids namespaces: the command runs
# in a user namespace in which none can be made, without the capability to make others, as in a usual container.
set -euo pipefail

root=$1 user=$2 state=$3
shift 3
shared=()
while [ "$1" != -- ]; do
  shared+=("$1")
  shift
done
shift

# A root folder that is only `chroot`ed into refuses user namespaces to all programs. So it becomes the real root.
enter() {
  mount --bind "$root" "$root"
  local folder
  for folder in "${shared[@]}"; do
    mkdir -p "$root$folder"
    mount --bind -o ro "$folder" "$root$folder"
  done
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount -t sysfs -o ro sysfs "$root/sys"
  cd "$root"
  mkdir -p .machine
  pivot_root . .machine
  umount -l /.machine
  rmdir /.machine
}

# The processes of `closed` wait for their map of users, which only a process outside of their namespace can write.
in_closed_namespace() {
  local gate outside pid
  gate=$(mktemp -u /run/gate.XXXXXX)
  mkfifo -m 666 "$gate"
  outside=$(readlink /proc/self/ns/user)
  unshare --user --keep-caps bash -c '
    read -r _ <"$0"
    echo 0 >/proc/sys/user/max_user_namespaces
    exec "$@"
  ' "$gate" "$@" &
  pid=$!
  until [ "$(readlink "/proc/$pid/ns/user")" != "$outside" ]; do sleep 0.05; done
  echo "0 0 65536" >"/proc/$pid/uid_map"
  echo "0 0 65536" >"/proc/$pid/gid_map"
  echo go >"$gate"
  rm -f "$gate"
  wait "$pid"
}

enter
home=$(getent passwd "$user" | cut -d : -f 6)
become=(setpriv --reuid "$user" --regid "$user" --init-groups --inh-caps -all --ambient-caps -all)
[ "$state" != closed ] || become+=(--bounding-set -sys_admin)
words=("${become[@]}" env "HOME=$home" "USER=$user" bash -c 'cd && exec "$@"' bash "$@")
if [ "$state" = closed ]; then
  in_closed_namespace "${words[@]}"
else
  "${words[@]}"
fi
