/** A program and its arguments. */
export type Command = readonly [string, ...string[]];

/** The user who runs the tests, and what that user may do. */
export interface Caller {
  /** 0 is root. */
  readonly userId: number;
  readonly groupId: number;
  /** `VK_TEST_SUDO=1` allows sudo: nobody's tests become root's without being told to. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The caller of this process. */
export function thisCaller(): Caller {
  return { userId: process.getuid?.() ?? -1, groupId: process.getgid?.() ?? -1, environment: process.env };
}

/** How an ordinary user lets tests become root's. */
export const sudoHint = "VK_TEST_SUDO=1 where sudo asks for no password";

/**
 * The command as root runs it: unchanged where the caller is root, through sudo where the caller allows it, and `undefined` otherwise. Through
 * sudo it keeps the caller's environment except for `HOME`, which becomes root's, so that root leaves no files in the caller's home.
 * What root leaves in the current folder becomes the caller's when the command has ended.
 */
export function asRoot(command: Command, caller: Caller = thisCaller()): Command | undefined {
  if (caller.userId === 0) return command;
  const giveBack = `"$@"; code=$?; chown --recursive --silent --no-dereference --from=root ${owner(caller)} .; exit $code`;
  return sudo(["sh", "-c", giveBack, "sh", ...command], caller, ["--set-home"]);
}

/**
 * A shell script that root runs and that ends with the caller's command, which is the caller's again, with the caller's environment;
 * `undefined` where the caller cannot become root.
 */
export function preparedByRoot(wrap: Command, script: string, command: Command, caller: Caller = thisCaller()): Command | undefined {
  const shell = (then: string): Command => [...wrap, "sh", "-c", `${script} && exec ${then}"$@"`, "sh", ...command];
  if (caller.userId === 0) return shell("");
  const user = ["HOME", "LOGNAME", "USER"].flatMap((name) => {
    const value = caller.environment[name];
    return value === undefined ? [] : [`${name}=${quoted(value)}`];
  });
  const drop = `setpriv --reuid=${caller.userId} --regid=${caller.groupId} --init-groups env ${user.join(" ")} `;
  return sudo(shell(drop), caller);
}

/** Sudo has a PATH of its own, so that the caller's is given once more. */
function sudo(command: Command, caller: Caller, options: readonly string[] = []): Command | undefined {
  if (caller.environment["VK_TEST_SUDO"] !== "1") return undefined;
  return ["sudo", "--non-interactive", "--preserve-env", ...options, "env", `PATH=${caller.environment["PATH"] ?? ""}`, ...command];
}

function owner({ userId, groupId }: Caller): string {
  return `${userId}:${groupId}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
