import { spawn } from "node:child_process";

/**
 * Ends the processes it was told of when the process that started it is gone, however that came: a crash and
 * `kill -9` run no clean-up of their own. It is a shell that waits for the end of its input.
 */
export interface Reaper extends Disposable {
  /** The process is to be killed (SIGKILL) when ours ends. */
  watch(pid: number): void;
  /** The process ended, or is to live on. */
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
 * Starts the reaper, a process that outlives this one by a moment.
 *
 * @param directory - a folder to remove as well, once all processes are killed or the reaper is disposed
 */
export function startReaper(directory?: string): Reaper {
  // A session of its own: Ctrl-C on the terminal must not end it before its work.
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
