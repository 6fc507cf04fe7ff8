import { parseOptions, UsageError, type Command } from "../command.ts";

/** `env [-i] [NAME=value…]`: prints the environment; a command is not supported. */
export const env: Command = async ({ args, env: variables, stdout }) => {
  const given = args.slice(1).filter((arg) => arg !== "-i");
  const all = new Map(args.includes("-i") ? [] : variables);
  for (const assignment of given) {
    const at = assignment.indexOf("=");
    if (at < 1) throw new UsageError(`cannot run ${assignment}: only NAME=value is supported`);
    all.set(assignment.slice(0, at), assignment.slice(at + 1));
  }
  for (const [name, value] of all) await stdout.write(`${name}=${value}\n`);
  return 0;
};

/** `printenv [NAME…]` */
export const printenv: Command = async ({ args, env: variables, stdout }) => {
  const names = args.slice(1);
  if (names.length === 0) for (const [name, value] of variables) await stdout.write(`${name}=${value}\n`);
  let code = 0;
  for (const name of names) {
    const value = variables.get(name);
    if (value === undefined) code = 1;
    else await stdout.write(`${value}\n`);
  }
  return code;
};

/** `pwd` */
export const pwd: Command = async ({ directory, stdout }) => {
  await stdout.write(`${directory}\n`);
  return 0;
};

/** `true` and `:` */
export const succeed: Command = async () => 0;

/** `false` */
export const fail: Command = async () => 1;

/** `sleep number[s|m|h|d]…`, and `sleep infinity` */
export const sleep: Command = async ({ args, machine, signal }) => {
  const units: Readonly<Record<string, number>> = { "": 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  let totalMs = 0;
  for (const text of args.slice(1)) {
    const match = /^(\d*\.?\d+)([smhd]?)$/.exec(text);
    if (!match && !text.startsWith("inf")) throw new UsageError(`invalid time interval '${text}'`);
    totalMs += match ? Number(match[1]) * (units[match[2] ?? ""] ?? 1000) : 100 * 365 * 86_400_000;
  }
  if (args.length < 2) throw new UsageError("missing operand");
  if (totalMs > 0) await machine.sleep(totalMs, signal);
  return 0;
};

/** `date [-u] [+format]` with `%s %N %Y %m %d %H %M %S %F %T %Z %%`; always UTC. */
export const date: Command = async ({ args, machine, stdout }) => {
  const now = new Date(machine.nowMs());
  const iso = now.toISOString();
  const format = args.find((arg) => arg.startsWith("+"))?.slice(1);
  if (format === undefined) {
    const [day = "", number = "", month = "", year = "", time = ""] = now.toUTCString().replace(",", "").split(" ");
    await stdout.write(`${day} ${month} ${number.replace(/^0/, " ")} ${time} UTC ${year}\n`);
    return 0;
  }
  const fields: Readonly<Record<string, string>> = {
    s: String(Math.floor(now.getTime() / 1000)),
    N: `${iso.slice(20, 23)}000000`,
    Y: iso.slice(0, 4),
    m: iso.slice(5, 7),
    d: iso.slice(8, 10),
    H: iso.slice(11, 13),
    M: iso.slice(14, 16),
    S: iso.slice(17, 19),
    F: iso.slice(0, 10),
    T: iso.slice(11, 19),
    Z: "UTC",
    "%": "%",
  };
  await stdout.write(`${format.replace(/%(.)/g, (all, letter: string) => fields[letter] ?? all)}\n`);
  return 0;
};

/** `hostname` */
export const hostname: Command = async ({ machine, stdout }) => {
  await stdout.write(`${machine.hostname}\n`);
  return 0;
};

/** `id [-u|-g] [-n]`, and `whoami` */
export const id: Command = async ({ args, stdout }) => {
  const { options } = parseOptions(args, { flags: "ugnG" });
  const isOne = options.has("u") || options.has("g");
  await stdout.write(args[0] === "whoami" || options.has("n") ? "root\n" : isOne ? "0\n" : "uid=0(root) gid=0(root) groups=0(root)\n");
  return 0;
};

/** `uname [-a…]` */
export const uname: Command = async ({ args, machine, stdout }) => {
  await stdout.write(
    args.includes("-a") ? `Linux ${machine.hostname} mock x86_64\n` : args.includes("-n") ? `${machine.hostname}\n` : "Linux\n",
  );
  return 0;
};

/** `stty size`; other settings are accepted without effect. */
export const stty: Command = async ({ args, machine, stdout, stderr }) => {
  const size = machine.terminalSize();
  if (!size) {
    await stderr.write("stty: standard input: Inappropriate ioctl for device\n");
    return 1;
  }
  if (args.includes("size")) await stdout.write(`${size.height} ${size.width}\n`);
  return 0;
};

/** `tty` */
export const tty: Command = async ({ machine, stdout }) => {
  const isTerminal = machine.terminalSize() !== undefined;
  await stdout.write(isTerminal ? "/dev/pts/0\n" : "not a tty\n");
  return isTerminal ? 0 : 1;
};

/** `seq [first] last` */
export const seq: Command = async ({ args, stdout, signal }) => {
  const numbers = args.slice(1).map(Number);
  if (numbers.length === 0 || numbers.some((number) => !Number.isInteger(number))) throw new UsageError("expected whole numbers");
  const last = numbers.at(-1) ?? 0;
  for (let number = numbers.length > 1 ? (numbers[0] ?? 1) : 1; number <= last; number++) {
    signal.throwIfAborted();
    await stdout.write(`${number}\n`);
  }
  return 0;
};
