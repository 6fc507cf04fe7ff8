import { posix } from "node:path";
import { FileError, type FileNode } from "../../files/memory-node.ts";
import { parseOptions, pathOf, UsageError, type Command, type CommandContext } from "../command.ts";

/** `ls [-a1ld] [path…]` */
export const ls: Command = async (context) => {
  const { options, operands } = parseOptions(context.args, { flags: "aA1ldh" });
  const paths = operands.length > 0 ? operands : ["."];
  let code = 0;
  for (const [index, path] of paths.entries()) {
    try {
      const node = context.machine.files.get(pathOf(context, path));
      const inside = node.kind === "directory" && !options.has("d");
      if (paths.length > 1 && inside) await context.stdout.write(`${index > 0 ? "\n" : ""}${path}:\n`);
      const entries: [string, FileNode][] = inside
        ? [...node.entries].filter(([name]) => options.has("a") || options.has("A") || !name.startsWith("."))
        : [[path, node]];
      for (const [name, entry] of entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
        await context.stdout.write(`${options.has("l") ? longLine(name, entry) : name}\n`);
    } catch (error) {
      code = await complain(context, path, error);
    }
  }
  return code;
};

/** `mkdir [-p] path…` */
export const mkdir: Command = (context) => {
  const { options, operands } = parseOptions(context.args, { flags: "p", withValue: "m" });
  return forEach(context, operands, (path) => void context.machine.files.makeDirectory(path, { parents: options.has("p") }));
};

/** `rmdir path…` */
export const rmdir: Command = (context) =>
  forEach(context, parseOptions(context.args, {}).operands, (path) => {
    if (context.machine.files.directory(path).entries.size > 0) throw new FileError("Directory not empty");
    context.machine.files.remove(path, { recursive: true });
  });

/** `rm [-rf] path…` */
export const rm: Command = (context) => {
  const { options, operands } = parseOptions(context.args, { flags: "rRfi" });
  return forEach(context, operands, (path) => {
    if (options.has("f") && !context.machine.files.find(path)) return;
    context.machine.files.remove(path, { recursive: options.has("r") || options.has("R") });
  });
};

/** `touch path…` */
export const touch: Command = (context) =>
  forEach(context, parseOptions(context.args, { flags: "c" }).operands, (path) => {
    const { files, nowMs } = context.machine;
    const node = files.find(path);
    if (node?.readOnly) throw new FileError("Read-only file system");
    if (node && node.kind !== "device") node.modifiedMs = nowMs();
    else if (!node) files.openForWriting(path, { append: true });
  });

/** `chmod mode path…`, octal modes only. */
export const chmod: Command = (context) => {
  const { operands } = parseOptions(context.args, { flags: "R" });
  const [mode = "", ...paths] = operands;
  if (!/^[0-7]{3,4}$/.test(mode)) throw new UsageError(`invalid mode '${mode}'`);
  return forEach(context, paths, (path) => {
    const node = context.machine.files.get(path);
    if (node.readOnly) throw new FileError("Read-only file system");
    if (node.kind !== "device") node.mode = Number.parseInt(mode, 8);
  });
};

async function forEach(context: CommandContext, operands: readonly string[], act: (path: string) => void): Promise<number> {
  if (operands.length === 0) throw new UsageError("missing operand");
  let code = 0;
  for (const operand of operands) {
    try {
      act(pathOf(context, operand));
    } catch (error) {
      code = await complain(context, operand, error);
    }
  }
  return code;
}

/** Reports an error about one of several files, and continues. */
export async function complain({ args, stderr }: CommandContext, path: string, error: unknown): Promise<number> {
  if (!(error instanceof FileError)) throw error;
  await stderr.write(`${args[0] ?? ""}: ${path}: ${error.message}\n`);
  return 1;
}

function longLine(name: string, node: FileNode): string {
  const letters = ["---", "--x", "-w-", "-wx", "r--", "r-x", "rw-", "rwx"];
  const bits = [6, 3, 0].map((shift) => letters[(node.mode >> shift) & 7]).join("");
  const type = node.kind === "directory" ? "d" : node.kind === "device" ? "c" : "-";
  const size = node.kind === "file" ? node.size : 0;
  const time = new Date(node.modifiedMs).toISOString().slice(0, 16).replace("T", " ");
  return `${type}${bits} 1 root root ${String(size).padStart(8)} ${time} ${posix.normalize(name)}`;
}
