import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { PassThrough, Readable } from "node:stream";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { check, type Check } from "../check.ts";
import { capture } from "./capture.ts";

/** Commands in a container. They need `sh`, `cat`, `echo`, `rm`, `sleep`, `test`, `touch` there, and a `/tmp`. */
export const execChecks: readonly Check[] = [
  check(
    "exec",
    "a command's stdout and stderr are separate, and complete before the command is reported as ended",
    async (rig) => {
      const ref = await rig.run();
      const io = capture();
      await rig.exec(ref, ["sh", "-c", "echo out; echo err >&2"], io);
      const found = `its output is ${JSON.stringify(io.out())} and its errors are ${JSON.stringify(io.err())}`;
      assert.deepEqual([io.out(), io.err()], ["out\n", "err\n"], found);
    },
    ({ lacksPart }) => lacksPart?.["separate-errors"],
  ),
  check("exec", "a command receives its arguments unchanged", async (rig) => {
    const ref = await rig.run();
    const io = capture();
    await rig.exec(ref, ["echo", "a  b", "$HOME;", "é", "'\""], io);
    assert.equal(io.out(), "a  b $HOME; é '\"\n");
  }),
  check("exec", "a command without input reads the end of input at once", async (rig) => {
    const ref = await rig.run();
    const io = capture();
    assert.equal(await rig.exec(ref, ["cat"], io), 0);
    assert.equal(io.out(), "");
  }),
  check("exec", "the streams of concurrent commands do not mix", async (rig) => {
    const ref = await rig.run();
    const outputs = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const io = capture();
        await rig.exec(ref, ["sh", "-c", `echo ${index}; echo ${index}`], io);
        return io.out();
      }),
    );
    assert.deepEqual(
      outputs,
      Array.from({ length: 8 }, (_, index) => `${index}\n${index}\n`),
    );
  }),
  check("exec", "a missing container and a missing pod are not found", async (rig) => {
    const ref = await rig.run();
    await assert.rejects(rig.exec(ref, ["true"], {}, "no-such-container"), (error) => isNotFound(error));
    await assert.rejects(rig.exec({ ...ref, uid: "00000000-0000-4000-8000-000000000004" }, ["true"]), (error) => isNotFound(error));
  }),
  check("exec", "a command is killed when its client disconnects", async (rig) => {
    const ref = await rig.run();
    assert.ok(rig.provider.runInContainer);
    const controller = new AbortController();
    // Where containers are processes of the machine, they share its /tmp with those of other runs.
    const [word, late] = [`/tmp/suite-word-${ref.uid}`, `/tmp/suite-late-${ref.uid}`];
    const script = `while ! test -e ${word}; do sleep 0.1; done; echo late > ${late}`;
    const call = rig.provider.runInContainer(ref, "main", ["sh", "-c", script], capture(), controller.signal);
    const settled = call.then(
      () => undefined,
      (error: unknown) => error,
    );
    await rig.clock.sleep(300);
    const reason = new Error("the client is gone");
    controller.abort(reason);
    const error = await rig.within("an aborted command", settled);
    assert.ok(
      error === reason || (error as Error | undefined)?.cause === reason,
      `an aborted call throws the signal's reason, and threw ${String(error)}`,
    );
    assert.equal(await rig.exec(ref, ["touch", word]), 0);
    await rig.clock.sleep(1500);
    const isLate = (await rig.exec(ref, ["test", "-e", late])) === 0;
    await rig.exec(ref, ["rm", "-f", word, late]);
    assert.ok(!isLate, "the command ran on after its client was gone");
  }),
  check("exec-exit-code", "a command's exit code is returned; after a signal it is 128 plus the signal's number", async (rig) => {
    const ref = await rig.run();
    for (const [script, code] of [
      ["exit 0", 0],
      ["exit 3", 3],
      ["exit 255", 255],
      ["kill -9 $$", 137],
    ] as const)
      assert.equal(await rig.exec(ref, ["sh", "-c", script]), code, script);
  }),
  check("exec-exit-code", "a command that does not exist fails", async (rig) => {
    const ref = await rig.run();
    const code = await rig.exec(ref, ["/no/such/command"]).catch(() => 127);
    assert.ok(code === 126 || code === 127, `the exit code is ${code}, expected 126, 127 or an error`);
  }),
  check("exec-input", "a command reads its input to the end", async (rig) => {
    const ref = await rig.run();
    const input = [Buffer.from("first\n"), Buffer.from([0, 255, 10]), Buffer.from("last")];
    const sent = Buffer.concat(input);
    const io = capture({ stdin: Readable.from(input) });
    assert.equal(await rig.exec(ref, ["cat"], io), 0);
    const read = io.outBytes();
    assert.ok(
      read.equals(sent),
      `the command was sent ${sent.byteLength} bytes, and read ${read.byteLength}: ${JSON.stringify(read.toString("latin1"))}`,
    );
  }),
  check("exec-input", "megabytes are returned unchanged to a slow reader", async (rig) => {
    const ref = await rig.run();
    const size = 4 * 1024 * 1024;
    const bytes = Buffer.alloc(size, "0123456789abcdef\n");
    const io = capture({ stdin: Readable.from(pieces(bytes, 50_000)) });
    assert.equal(await rig.exec(ref, ["cat"], io), 0);
    assert.equal(io.outBytes().byteLength, size);
    assert.equal(sha256(io.outBytes()), sha256(bytes));
  }),
  check("exec-input", "a command may exit before its input has ended", async (rig) => {
    const ref = await rig.run();
    const stdin = new PassThrough();
    stdin.write("asked\n");
    const io = capture({ stdin });
    assert.equal(await rig.exec(ref, ["sh", "-c", "read line; echo $line; exit 6"], io), 6);
    assert.equal(io.out(), "asked\n");
    stdin.destroy();
  }),
  check("exec-tty", "a terminal has the requested size, and one output with CR LF", async (rig) => {
    const ref = await rig.run();
    const stdin = new PassThrough();
    const io = capture({ stdin, resizes: sizes() });
    // The size is sent separately and may arrive after the command has started.
    const wait = `i=0; while [ "$(stty size)" != "33 101" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done`;
    await rig.exec(ref, ["sh", "-c", `${wait}; stty size; echo err >&2`], io);
    stdin.destroy();
    assert.match(io.out(), /33 101\r\n[^]*err\r\n/);

    async function* sizes(): AsyncGenerator<{ width: number; height: number }, void, undefined> {
      yield { width: 101, height: 33 };
    }
  }),
];

function* pieces(bytes: Buffer, size: number): Generator<Buffer, void, undefined> {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
