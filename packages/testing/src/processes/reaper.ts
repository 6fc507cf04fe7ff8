import { spawn } from "node:child_process";

/**
 * Kills registered processes when the process that started it has ended for any reason, because a crash and `kill -9` run
 * no clean-up. It is a shell that waits for the end of its input.
 */
export interface Reaper extends Disposable {
  /** Registers a process, which is killed (SIGKILL) when this process ends. */
  watch(pid: number): void;
  /** Unregisters a process that has ended or may continue to run. */
  forget(pid: number): void;
}

const script = `
trap '' HUP INT TERM
pids=''
while read -r verb pid; do
  case $verb in
    watch) pids="$pids $pid" ;;
    forget)
      rest=''
      for one in $pids; do [ "$one" = "$pid" ] || rest="$rest $one"; done
      pids=$rest ;;
  esac
done
for pid in $pids; do kill -KILL "$pid" 2>/dev/null; done
[ -z "$1" ] || rm -rf "$1"
`;

/**
 * Starts the reaper, a process that briefly outlives this one.
 *
 * @param directory - a folder to remove as well, once all processes are killed or the reaper is disposed
 */
export function startReaper(directory?: string): Reaper {
  // The reaper gets its own session, because Ctrl-C on the terminal must not end it before its work.
  const shell = spawn("/bin/sh", ["-c", script, "reaper", directory ?? ""], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  shell.on("error", () => undefined);
  shell.stdin.on("error", () => undefined);
  shell.unref();
  const say = (verb: string, pid: number): void => {
    shell.stdin.write(`${verb} ${String(pid)}\n`);
  };
  return {
    watch: (pid) => say("watch", pid),
    forget: (pid) => say("forget", pid),
    [Symbol.dispose]: () => {
      shell.stdin.end();
    },
  };
}
