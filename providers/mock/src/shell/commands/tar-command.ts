import { once } from "node:events";
import { posix } from "node:path";
import { extract, pack, type Pack } from "./tar-stream.ts";
import { FileError, type FileNode } from "../../files/memory-node.ts";
import { pathOf, UsageError, type Command, type CommandContext } from "../command.ts";
import { openInput } from "./text-commands.ts";

interface TarOptions {
  readonly mode: "c" | "x" | "t";
  readonly file: string;
  readonly directory: string;
  readonly keepTimes: boolean;
  readonly verbose: boolean;
  readonly operands: readonly string[];
}

/** `tar c|x|t` with `f`, `v`, `m`, `C`, as `kubectl cp` uses it. Links and devices in an archive are skipped. */
export const tar: Command = async (context) => {
  const options = parseTar(context);
  if (options.mode === "c") return create(context, options);
  return read(context, options);
};

async function create(context: CommandContext, options: TarOptions): Promise<number> {
  const { files } = context.machine;
  if (options.operands.length === 0) throw new UsageError("empty archive");
  const archive = pack();
  const target = options.file === "-" ? undefined : files.openForWriting(pathOf(context, options.file));
  const written = (async () => {
    for await (const chunk of archive as AsyncIterable<Uint8Array>) {
      if (target) files.append(target, chunk);
      else await context.stdout.write(chunk);
    }
  })();
  let code = 0;
  const filled = (async () => {
    for (const operand of options.operands) {
      const node = files.find(posix.resolve(options.directory, operand));
      if (node) addTo(archive, posix.normalize(operand).replace(/^\/+/, "") || ".", node);
      else {
        await context.stderr.write(`tar: ${operand}: No such file or directory\n`);
        code = 1;
      }
    }
    archive.finalize();
  })();
  try {
    await Promise.all([written, filled]);
  } finally {
    archive.destroy();
    await Promise.allSettled([written, filled]);
  }
  return code;
}

function addTo(archive: Pack, name: string, node: FileNode): void {
  const mtime = new Date(node.modifiedMs);
  if (node.kind === "device") return;
  if (node.kind === "file") {
    archive.entry({ name, mode: node.mode, mtime, type: "file" }, Buffer.from(node.content));
    return;
  }
  archive.entry({ name: `${name}/`, mode: node.mode, mtime, type: "directory" });
  for (const [entry, child] of node.entries) addTo(archive, `${name}/${entry}`, child);
}

async function read(context: CommandContext, options: TarOptions): Promise<number> {
  const { files } = context.machine;
  const input = options.file === "-" ? context.stdin : openInput(context, pathOf(context, options.file));
  const archive = extract();
  const fed = (async () => {
    for await (const chunk of input)
      if (!archive.write(Buffer.from(chunk))) await Promise.race([once(archive, "drain"), once(archive, "close")]);
    archive.end(undefined);
  })();
  fed.catch((error: unknown) => archive.destroy(error instanceof Error ? error : new Error("input failed")));
  let code = 0;
  try {
    for await (const entry of archive) {
      const { name, type, mode, mtime } = entry.header;
      const path = posix.join(options.directory, posix.normalize(`/${name}`));
      if (options.verbose || options.mode === "t") await context.stdout.write(`${name}\n`);
      if (options.mode === "t") entry.resume();
      else if (type === "directory") {
        files.makeDirectory(path, { parents: true });
        entry.resume();
      } else if (type === "file" || type === "contiguous-file") {
        files.makeDirectory(posix.dirname(path), { parents: true });
        const file = files.openForWriting(path, { mode });
        for await (const chunk of entry as AsyncIterable<Uint8Array>) files.append(file, chunk);
        if (options.keepTimes && file.kind === "file") file.modifiedMs = mtime.getTime();
      } else {
        entry.resume();
        await context.stderr.write(`tar: ${name}: skipped: the mock does not support files of type ${type}\n`);
        code = 1;
      }
    }
    await fed;
  } catch (error) {
    if (error instanceof FileError || context.signal.aborted) throw error;
    await context.stderr.write(`tar: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    archive.destroy();
  }
  return code;
}

function parseTar(context: CommandContext): TarOptions {
  let mode: TarOptions["mode"] | undefined;
  let file = "-";
  let directory = context.directory;
  let keepTimes = true;
  let verbose = false;
  const operands: string[] = [];
  const args = context.args.slice(1);
  const next = (letter: string): string => args.shift() ?? usage(`option requires an argument -- '${letter}'`);
  for (let isFirst = true, arg = args.shift(); arg !== undefined; arg = args.shift(), isFirst = false) {
    if (arg === "--") operands.push(...args.splice(0));
    else if (arg.startsWith("--")) {
      // Owners and permissions of files have no effect here.
      if (!/^--(no-)?(same-(owner|permissions)|overwrite)/.test(arg)) usage(`unrecognized option: ${arg}`);
    } else if ((isFirst || arg.startsWith("-")) && arg !== "-") {
      for (const letter of arg.replace(/^-/, "")) {
        if (letter === "c" || letter === "x" || letter === "t") mode = letter;
        else if (letter === "f") file = next(letter);
        else if (letter === "C") directory = pathOf(context, next(letter));
        else if (letter === "m") keepTimes = false;
        else if (letter === "v") verbose = true;
        else if (letter !== "p" && letter !== "o") usage(`unrecognized option: ${letter}`);
      }
    } else operands.push(arg);
  }
  return { mode: mode ?? usage("expected one of c, x, t"), file, directory, keepTimes, verbose, operands };
}

function usage(message: string): never {
  throw new UsageError(message);
}
