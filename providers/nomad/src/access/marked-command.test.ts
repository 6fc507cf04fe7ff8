import { systemRandom } from "@virtual-kubelet/clock";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { MarkedCommand, shellWords } from "./marked-command.ts";

/** Runs it, and gives its standard error to it in pieces. */
function runIn(pieceBytes: number, command: readonly string[], input = ""): { marked: MarkedCommand; out: string; err: string } {
  const marked = new MarkedCommand(command, systemRandom);
  const [program = "", ...args] = marked.words;
  const { stdout, stderr } = spawnSync(program, args, { input });
  const piecesOf = (bytes: Buffer, take: (piece: Buffer) => Buffer): Buffer[] => {
    const own: Buffer[] = [];
    for (let at = 0; at < bytes.byteLength; at += pieceBytes) own.push(take(bytes.subarray(at, at + pieceBytes)));
    return own;
  };
  const out = piecesOf(stdout, (piece) => marked.takeOutput(piece));
  const err = piecesOf(stderr, (piece) => marked.take(piece));
  const rest = marked.rest();
  return { marked, out: Buffer.concat([...out, rest.stdout]).toString(), err: Buffer.concat([...err, rest.stderr]).toString() };
}

const script = "printf 'a\\000b\\000vk-' >&2; echo out; printf '\\000' >&2; exit 7";

describe.each([1, 2, 7, 100_000])("with standard error in pieces of %i bytes", (pieceBytes) => {
  test("the marks are taken out, and all else stays", () => {
    const { marked, out, err } = runIn(pieceBytes, ["sh", "-c", script]);

    expect({ out, err, exitCode: marked.exitCode, isOver: marked.over.aborted }).toEqual({
      out: "out\n",
      err: "a\0b\0vk-\0",
      exitCode: 7,
      isOver: true,
    });
  });
});

test("a command is over when its output is whole, whatever comes first of its end and of its output's", () => {
  for (const order of [0, 1]) {
    const marked = new MarkedCommand(["true"], systemRandom);
    const mark = marked.words[4] ?? "";
    marked.take(Buffer.from(`\0${mark} 12 17\n`));
    const ends = [() => marked.take(Buffer.from(`\0${mark} 7\n`)), () => marked.takeOutput(Buffer.from(`last\0${mark} 0\n`))];
    if (order === 1) ends.reverse();
    ends[0]?.();
    expect(marked.over.aborted).toBe(false);
    ends[1]?.();
    expect([marked.over.aborted, marked.exitCode]).toEqual([true, 7]);
  }
});

test("what is no mark is not held back", () => {
  const marked = new MarkedCommand(["true"], systemRandom);

  expect(marked.take(Buffer.from("asked: ")).toString()).toBe("asked: ");
  expect(marked.take(Buffer.from("\0vk")).toString()).toBe("");
  expect(marked.take(Buffer.from("?")).toString()).toBe("\0vk?");
  expect(marked.hasBegun).toBe(false);
});

test.each([" ", " 7", "", " seven\n", " 7 8 9\n", ` ${"7".repeat(100)}\n`])(
  "a mark that goes on with %j ends nothing, and holds nothing back",
  (words) => {
    const marked = new MarkedCommand(["true"], systemRandom);
    const forged = Buffer.from(`\0${marked.words[4] ?? ""}${words}`);
    const rest = Buffer.alloc(1024, "x");

    expect(Buffer.concat([marked.take(forged), marked.take(rest)]).toString()).toBe(`${forged.toString()}${rest.toString()}`);
    expect([marked.hasBegun, marked.exitCode]).toEqual([false, undefined]);
  },
);

test("a command that writes the mark of another one ends nothing", () => {
  const { words } = new MarkedCommand(["true"], systemRandom);
  const { marked, err } = runIn(100_000, ["sh", "-c", `printf '\\000%s 0\\n' ${words[4] ?? ""} >&2; exit 3`]);

  expect([err, marked.exitCode]).toEqual([`\0${words[4] ?? ""} 0\n`, 3]);
});

test("what is left of the input is read", () => {
  const { marked, out } = runIn(100_000, ["sh", "-c", "read line; echo $line"], `one\n${"more\n".repeat(100_000)}`);

  expect([out, marked.exitCode]).toEqual(["one\n", 0]);
});

test("its process is known from its begin, and can be killed until its end", async () => {
  const { marked } = runIn(100_000, ["true"]);

  expect(await marked.begun).toEqual({ id: expect.any(Number) as number, startTicks: expect.any(Number) as number });
  expect(marked.killWords).toBeUndefined();
  const sleeping = new MarkedCommand(["sleep", "60"], systemRandom);
  expect(sleeping.killWords).toBeUndefined();
  const [program = "", ...args] = sleeping.words;
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  child.stderr.on("data", (chunk: Buffer) => void sleeping.take(chunk));
  await sleeping.begun;
  const [killer = "", ...words] = sleeping.killWords ?? [];
  spawnSync(killer, words);
  await once(child, "close");
  expect(sleeping.exitCode).toBe(137);
});

test("a process whose name has parentheses, line ends and stars in it can be killed, and no other one", async () => {
  const folder = mkdtempSync(join(tmpdir(), "vk-marked-"));
  const program = join(folder, ") 1 2\n)*\n(3");
  symlinkSync("/bin/sleep", program);
  const marked = new MarkedCommand([program, "60"], systemRandom);
  const child = spawn(marked.words[0] ?? "", marked.words.slice(1), { stdio: ["ignore", "ignore", "pipe"] });
  child.stderr.on("data", (chunk: Buffer) => void marked.take(chunk));
  const { id } = await marked.begun;
  // Its name is the program's once its shell has become the program.
  await vi.waitFor(() => expect(readFileSync(`/proc/${id}/stat`, "latin1")).toContain("(3)"));
  const words = marked.killWords ?? [];
  spawnSync(words[0] ?? "", [...words.slice(1, -1), "17"]);
  expect(readFileSync(`/proc/${id}/stat`, "latin1")).toContain("(3)");
  spawnSync(words[0] ?? "", words.slice(1));
  await once(child, "close");
  rmSync(folder, { recursive: true });

  expect(marked.exitCode).toBe(137);
});

test("a process whose id is another's by now is not killed", async () => {
  const child = spawn("sleep", ["60"]);
  const marked = new MarkedCommand(["sleep"], systemRandom);
  marked.take(Buffer.from(`\0${marked.words[4] ?? ""} ${child.pid} 17\n`));
  const [program = "", ...args] = marked.killWords ?? [];

  spawnSync(program, args);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(child.signalCode).toBeNull();
  child.kill();
  await once(child, "exit");
});

test("a shell alone runs a program, and none of its own commands", () => {
  const [program = "", ...args] = shellWords(["printf", "%s|", "a  b", "$HOME"]);
  const [other = "", ...rest] = shellWords(["exit", "3"]);

  expect(spawnSync(program, args).stdout.toString()).toBe("a  b|$HOME|");
  expect(spawnSync(other, rest).status).toBe(127);
});
