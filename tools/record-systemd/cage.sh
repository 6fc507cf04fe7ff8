#!/bin/bash
# Asks a real systemd, in a cage: cage.sh VERSION < COMMANDS
#
# VERSION is the version of cgroups that systemd sees: 1 (only its own hierarchy name=systemd) or 2. COMMANDS are lines with the arguments of
# systemctl, separated by tabs. "@boot" starts systemd, "@process SLICE" a process in a slice, "@end" ends that process. For each line
# one line is printed: exit code, and in base64 standard output, standard error, the cgroups of slices and of the process, and what
# `systemctl show` says of the slice.
#
# A systemd that may write the machine's files removes what is in /tmp and changes /sys/fs/cgroup. So systemd runs only as a user's manager,
# without any capability, with processes, mounts, cgroups and network of its own, where every file system is read-only except new tmpfs on
# /run, /tmp, /var/tmp and /dev. The script checks that before it starts systemd, and refuses otherwise. Its cgroup is removed at the end.
set -eu
shopt -s inherit_errexit
version=$1 stage=${2-outside}

mount_group() { # FOLDER
  if [ "$version" = 2 ]; then mount -t cgroup2 none "$1"; else mount -t cgroup -o none,name=systemd cgroup "$1"; fi
}

outside() {
  exec unshare --mount --propagation private bash "$0" "$version" group
}

# A cgroup below which systemd is confined.
group() {
  mount -t tmpfs tmpfs /mnt
  mkdir /mnt/group
  mount_group /mnt/group
  own=/mnt/group/record-systemd-$$
  mkdir "$own"
  trap 'while [ -d "$own" ]; do find "$own" -depth -type d -exec rmdir {} + 2> /dev/null || sleep 0.1; done' EXIT
  (
    echo "$BASHPID" > "$own/cgroup.procs"
    exec unshare --mount --propagation private --pid --fork --kill-child --mount-proc --ipc --uts --cgroup --net bash "$0" "$version" inside
  )
}

inside() {
  [ $$ -eq 1 ] || { echo "this is not a cage: process $$ is not the first" >&2; exit 99; }
  umount /mnt/group
  mkdir /mnt/run /mnt/dev
  mount -t tmpfs -o mode=755 tmpfs /mnt/run
  mount -t tmpfs -o mode=755 tmpfs /mnt/dev
  mkdir /mnt/dev/shm
  local device
  for device in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 "/mnt/dev/${device%:*}" c 1 "${device#*:}"; done
  # A copy, because a machine may have made its own systemd not executable.
  install -m 755 /lib/systemd/systemd /mnt/run/systemd-copy
  local point
  while read -r _ _ _ _ point _; do
    point=$(printf '%b' "$point")
    case $point in /mnt | /mnt/*) continue ;; esac
    mount -o bind,remount,ro "$point" 2> /dev/null || true
  done < /proc/self/mountinfo
  while read -r _ _ _ _ point _; do
    point=$(printf '%b' "$point")
    case $point in /mnt | /mnt/*) ;; *) refuse_if_writable "$point" ;; esac
  done < /proc/self/mountinfo
  for point in /root /home /etc /usr /var /var/lib /var/tmp /tmp /run /dev/shm /proc/sys/kernel/hostname; do refuse_if_writable "$point"; done
  mount -n --move /mnt/run /run
  mount -n --move /mnt/dev /dev
  mount -o bind,remount,ro /mnt
  mount -t tmpfs tmpfs /tmp
  mount -t tmpfs tmpfs /var/tmp
  if [ "$version" = 2 ]; then
    mount_group /sys/fs/cgroup
  else
    mount -t tmpfs tmpfs /sys/fs/cgroup
    mkdir /sys/fs/cgroup/systemd
    mount_group /sys/fs/cgroup/systemd
  fi
  mkdir -p /run/home/.config/systemd/user
  for point in systemd-tmpfiles-setup.service systemd-tmpfiles-clean.service systemd-tmpfiles-clean.timer; do
    ln -s /dev/null "/run/home/.config/systemd/user/$point"
  done
  answer
}

refuse_if_writable() { # PATH
  if [ -w "$1" ]; then
    echo "this is not a cage: $1 can be written" >&2
    exit 99
  fi
}

without_capabilities() {
  env -i HOME=/run/home XDG_RUNTIME_DIR=/run PATH="$PATH" LC_ALL=C setpriv --inh-caps=-all --bounding-set=-all "$@"
}

# Like the program's own calls: nothing in the environment but these two. Root's systemctl asks /run/systemd/private, where this manager listens.
ask() {
  env -i PATH="$PATH" LC_ALL=C systemctl "$@" < /dev/null
}

boot() {
  mkdir -p /run/systemd/system
  without_capabilities /run/systemd-copy --user --unit=basic.target < /dev/null > /run/systemd.log 2>&1 &
  local tries
  for tries in {1..100}; do
    if ask is-active --quiet basic.target 2> /dev/null; then return; fi
    sleep 0.1
  done
  cat /run/systemd.log >&2
  exit 1
}

answer() {
  local args code slice properties=ActiveState,CPUShares,CPUWeight,CPUQuotaPerSecUSec,MemoryLimit,MemoryMax,TasksMax
  while IFS=$'\t' read -ra args; do
    code=0 slice=
    : > /run/out
    : > /run/err
    : > /run/shown
    case ${args[0]} in
      @boot) boot ;;
      @process)
        without_capabilities systemd-run --quiet --user --scope --unit=process --slice="${args[1]}" sleep 600 < /dev/null > /dev/null 2>&1 &
        until ask is-active --quiet process.scope; do sleep 0.1; done
        ;;
      @end) ask stop process.scope ;;
      *) ask "${args[@]}" > /run/out 2> /run/err || code=$? ;;
    esac
    case ${args[0]} in
      set-property) slice=${args[2]} ;;
      start | stop | revert) slice=${args[1]} ;;
    esac
    if [ -n "$slice" ]; then ask show --property=$properties "$slice" > /run/shown 2> /dev/null || true; fi
    (cd /sys/fs/cgroup; find . \( -name '*.slice' -o -name process.scope \) | sort > /run/cgroups)
    printf '%s\t%s\t%s\t%s\t%s\n' "$code" "$(base64 -w0 /run/out)" "$(base64 -w0 /run/err)" "$(base64 -w0 /run/cgroups)" "$(base64 -w0 /run/shown)"
  done
}

"$stage"
