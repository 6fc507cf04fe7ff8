import { FileError } from "../../files/memory-node.ts";
import { parseOptions, pathOf, UsageError, type Command, type CommandContext } from "../command.ts";
import { Input, inputOf } from "../streams.ts";
import { complain } from "./file-commands.ts";

const zeros = new Uint8Array(32_768);

/** `echo [-ne] word…` */
export const echo: Command = async ({ args, stdout }) => {
  let index = 1;
  let newline = true;
  let escapes = false;
  for (; /^-[neE]+$/.test(args[index] ?? ""); index++) {
    newline &&= !args[index]?.includes("n");
    escapes = args[index]?.includes("e") ?? false;
  }
  const text = args.slice(index).join(" ");
  await stdout.write(`${escapes ? unescape(text) : text}${newline ? "\n" : ""}`);
  return 0;
};

/** `printf format [word…]` with `%s`, `%d`, `%%`. The format is reused while words are left. */
export const printf: Command = async ({ args: [, format, ...words], stdout }) => {
  if (format === undefined) throw new UsageError("missing operand");
  const left = [...words];
  do {
    const before = left.length;
    await stdout.write(
      unescape(format).replace(/%([sd%])/g, (_, letter: string) => {
        if (letter === "%") return "%";
        const word = left.shift();
        return letter === "d" ? String(Math.trunc(Number(word ?? 0)) || 0) : (word ?? "");
      }),
    );
    if (left.length === before) break;
  } while (left.length > 0);
  return 0;
};

/** `cat [file…]` */
export const cat: Command = (context) =>
  forEachInput(context, parseOptions(context.args, { flags: "u" }).operands, async (input) => {
    for await (const chunk of input) await context.stdout.write(chunk);
  });

/** `head [-n lines | -c bytes] [file…]` */
export const head: Command = (context) => {
  const { options, operands } = parseOptions(oldStyleCount(context.args), { flags: "q", withValue: "nc" });
  const bytes = options.get("c");
  return forEachInput(context, operands, async (input) => {
    if (bytes !== undefined) return copyBytes(input, countOf(bytes), context);
    for (let left = countOf(options.get("n") ?? "10"); left > 0; left--) {
      const line = await input.readLine();
      if (line === undefined) return;
      await context.stdout.write(`${line}\n`);
    }
  });
};

/** `tail [-n [+]lines | -c [+]bytes] [file…]` */
export const tail: Command = (context) => {
  const { options, operands } = parseOptions(oldStyleCount(context.args), { flags: "q", withValue: "nc" });
  const bytes = options.get("c");
  return forEachInput(context, operands, async (input) => {
    const count = bytes ?? options.get("n") ?? "10";
    if (count.startsWith("+")) {
      const skip = Math.max(0, countOf(count.slice(1)) - 1);
      if (bytes === undefined) for (let line = 0; line < skip; line++) await input.readLine();
      let left = bytes === undefined ? 0 : skip;
      for await (const chunk of input) {
        const dropped = Math.min(left, chunk.byteLength);
        left -= dropped;
        if (dropped < chunk.byteLength) await context.stdout.write(chunk.subarray(dropped));
      }
      return;
    }
    const chunks: Uint8Array[] = [];
    for await (const chunk of input) chunks.push(Uint8Array.from(chunk));
    const all = Buffer.concat(chunks);
    if (bytes !== undefined) return context.stdout.write(all.subarray(Math.max(0, all.byteLength - countOf(count))));
    const lines = all.toString("utf8").split("\n");
    if (lines.at(-1) === "") lines.pop();
    const last = countOf(count) === 0 ? [] : lines.slice(-countOf(count));
    if (last.length > 0) await context.stdout.write(`${last.join("\n")}\n`);
  });
};

/** `wc [-lwc] [file…]` */
export const wc: Command = (context) => {
  const { options, operands } = parseOptions(context.args, { flags: "lwc" });
  return forEachInput(context, operands, async (input, name) => {
    const counts = { l: 0, w: 0, c: 0 };
    let inWord = false;
    for await (const chunk of input) {
      counts.c += chunk.byteLength;
      for (const byte of chunk) {
        if (byte === 10) counts.l++;
        const isBlank = byte === 32 || (byte >= 9 && byte <= 13);
        if (!isBlank && !inWord) counts.w++;
        inWord = !isBlank;
      }
    }
    const wanted = (["l", "w", "c"] as const).filter((letter) => options.size === 0 || options.has(letter));
    await context.stdout.write(`${wanted.map((letter) => counts[letter]).join(" ")}${name === undefined ? "" : ` ${name}`}\n`);
  });
};

/** `tee [-a] [file…]` */
export const tee: Command = async (context) => {
  const { options, operands } = parseOptions(context.args, { flags: "a" });
  const { files } = context.machine;
  const targets = operands.map((path) => files.openForWriting(pathOf(context, path), { append: options.has("a") }));
  for await (const chunk of context.stdin) {
    for (const target of targets) files.append(target, chunk);
    await context.stdout.write(chunk);
  }
  return 0;
};

/** `grep [-vcq] pattern [file…]`: lines that match a regular expression. */
export const grep: Command = async (context) => {
  const { options, operands } = parseOptions(context.args, { flags: "vcqiE" });
  const [pattern, ...paths] = operands;
  if (pattern === undefined) throw new UsageError("missing pattern");
  const expression = new RegExp(pattern, options.has("i") ? "i" : "");
  let found = 0;
  const code = await forEachInput(context, paths, async (input) => {
    for (let line = await input.readLine(); line !== undefined; line = await input.readLine()) {
      if (expression.test(line) === options.has("v")) continue;
      found++;
      if (!options.has("c") && !options.has("q")) await context.stdout.write(`${line}\n`);
    }
  });
  if (options.has("c")) await context.stdout.write(`${found}\n`);
  return code > 0 ? 2 : found > 0 ? 0 : 1;
};

/** Opens a file for reading. @throws FileError */
export function openInput({ machine: { files } }: Pick<CommandContext, "machine">, path: string): Input {
  const node = files.get(path);
  if (node.kind === "directory") throw new FileError("Is a directory");
  if (node.kind === "file") return inputOf(node.content);
  return node.source === "null" ? inputOf() : new Input(endlessZeros());
}

async function forEachInput(
  context: CommandContext,
  operands: readonly string[],
  act: (input: Input, name: string | undefined) => Promise<void>,
): Promise<number> {
  if (operands.length === 0) {
    await act(context.stdin, undefined);
    return 0;
  }
  let code = 0;
  for (const operand of operands) {
    try {
      await act(operand === "-" ? context.stdin : openInput(context, pathOf(context, operand)), operand);
    } catch (error) {
      code = await complain(context, operand, error);
    }
  }
  return code;
}

async function copyBytes(input: Input, count: number, { stdout }: CommandContext): Promise<void> {
  for (let left = count; left > 0;) {
    const chunk = await input.read();
    if (chunk === undefined) return;
    await stdout.write(chunk.subarray(0, left));
    left -= chunk.byteLength;
  }
}

async function* endlessZeros(): AsyncGenerator<Uint8Array, void, undefined> {
  for (let pieces = 0; ; pieces++) {
    yield zeros;
    // Yields to other commands from time to time.
    if (pieces % 32 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Rewrites `head -5` as `head -n 5`. */
function oldStyleCount(args: readonly string[]): string[] {
  return args.flatMap((arg, index) => (index === 1 && /^-\d+$/.test(arg) ? ["-n", arg.slice(1)] : [arg]));
}

function countOf(text: string): number {
  const match = /^(\d+)([kKmM]?)$/.exec(text);
  if (!match) throw new UsageError(`invalid number '${text}'`);
  const unit = { "": 1, k: 1024, m: 1024 ** 2 }[match[2]?.toLowerCase() ?? ""] ?? 1;
  return Number(match[1]) * unit;
}

function unescape(text: string): string {
  const known: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "\\": "\\", a: "\u0007", e: "\u001B" };
  return text.replace(/\\(0[0-7]{0,3}|.)/g, (all, code: string) =>
    code.startsWith("0") ? String.fromCharCode(Number.parseInt(code, 8)) : (known[code] ?? all),
  );
}
