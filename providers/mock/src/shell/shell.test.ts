import { systemClock } from "@virtual-kubelet/clock";
import { PassThrough } from "node:stream";
import { beforeEach, expect, test } from "vitest";
import type { PodRef } from "@virtual-kubelet/core";
import { captureIO, MockRig, podOf } from "../test-support/mock-rig.ts";

let rig: MockRig<typeof systemClock>;
let pod: PodRef;

beforeEach(async () => {
  rig = new MockRig(systemClock);
  rig.referred.env = { GREETING: "hello world" };
  pod = await rig.create(podOf({ containers: [{ name: "main", image: "nginx", workingDir: "/work" }] }));
});

test.each([
  ["echo one; echo two", "one\ntwo\n"],
  ["true && echo yes || echo no", "yes\n"],
  ["false && echo yes || echo no", "no\n"],
  ["! false && echo negated", "negated\n"],
  ["echo '$GREETING' \"$GREETING\" $GREETING", "$GREETING hello world hello world\n"],
  ['printf "%s|" $GREETING "$GREETING" ""', "hello|world|hello world||"],
  ["A=1; B=${A}2; echo $B ${NONE:-none} ${#:-x}", "12 none 0\n"],
  ["echo a\\ b 'c'\"d\"e # a comment", "a b cde\n"],
  ["false; echo $?; (exit 7); echo $?", "1\n7\n"],
  ["echo out > f; echo more >> f; cat < f | wc -l", "2\n"],
  ["echo gone > /dev/null; echo seen 2>/dev/null", "seen\n"],
  ["ls nowhere 2>&1 || true", "ls: nowhere: No such file or directory\n"],
  ["nosuch 2>/dev/null || echo $?", "127\n"],
  ["echo $(echo inner; echo lines) \"$(echo 'a  b')\" $((2 + 3 * 4))", "inner lines a  b 14\n"],
  ["i=0; while [ $i -lt 3 ]; do i=$((i+1)); [ $i = 2 ] && continue; echo $i; done", "1\n3\n"],
  ["for x in a 'b c'; do echo \"<$x>\"; done", "<a>\n<b c>\n"],
  ["if test -d /tmp; then echo dir; else echo none; fi; if [ -e /none ]; then echo x; elif true; then echo y; fi", "dir\ny\n"],
  ["X=outer; (X=inner); echo $X; { X=changed; }; echo $X", "outer\nchanged\n"],
  ["export Y=1; Z=2; W=3 env | grep '^[YZW]='", "Y=1\nW=3\n"],
  ["pwd; cd /tmp; pwd; cd; pwd; cd - > /dev/null; pwd", "/work\n/tmp\n/root\n/tmp\n"],
  ["mkdir -p a/b; touch a/b/c; echo x | tee a/d; ls a; rm -r a; ls a 2>/dev/null; echo $?", "x\nb\nd\n1\n"],
  ["seq 5 | head -n 2; seq 5 | tail -2; seq 5 | tail -n +4 | head -1", "1\n2\n4\n5\n4\n"],
  ["head -c 3000000 /dev/zero | wc -c", "3000000\n"],
  ["hostname; id -u; uname", "web\n0\nLinux\n"],
  ["set -e; trap 'x' TERM; printenv GREETING", "hello world\n"],
  ["echo 'echo $0 $1' > s; sh s arg; sh -c 'echo $0 $1 $#' zero one", "s arg\nzero one 1\n"],
  ["[ 1 -lt 2 ] && [ abc != abd ] && test -z '' && test ! -f /none && echo all", "all\n"],
])("%s", async (script, out) => {
  expect(await rig.sh(pod, script)).toEqual({ code: 0, out, err: "" });
});

test.each([
  ["exit 3", 3],
  ["exit 300", 44],
  ["kill -9 $$", 137],
  ["kill -TERM $$", 143],
  ["false", 1],
  ["if", 2],
  ["sleep 1 &", 2],
  ["(exit 4) | true", 0],
  ["true | (exit 4)", 4],
])("%s ends with code %i", async (script, code) => {
  expect((await rig.sh(pod, script)).code).toBe(code);
});

test("a command's words are taken as they are: no shell looks at them", async () => {
  expect(await rig.exec(pod, ["echo", "a  b", "$GREETING;"])).toEqual({ code: 0, out: "a  b $GREETING;\n", err: "" });
  expect(await rig.exec(pod, ["/bin/nosuch"])).toMatchObject({ code: 127, err: "sh: /bin/nosuch: not found\n" });
});

test("input reaches the command to its end, byte by byte, and the shell's own commands share it", async () => {
  expect(await rig.exec(pod, ["cat"], "ü\0\n")).toEqual({ code: 0, out: "ü\0\n", err: "" });
  expect((await rig.exec(pod, ["sh"], "read a b\none two three\necho $b; cat\nrest\n")).out).toBe("two three\nrest\n");
  expect((await rig.sh(pod, 'while read -r line; do echo "[$line]"; done', "a\nb")).out).toBe("[a]\n[b]\n");
});

test("what is written stays in the pod and can be read again; what is too much is refused", async () => {
  await rig.sh(pod, "echo kept > /tmp/file");
  expect((await rig.sh(pod, "cat /tmp/file")).out).toBe("kept\n");

  const flood = await rig.sh(pod, "head -c 70m /dev/zero > /tmp/large");

  expect(flood).toMatchObject({ code: 1, err: expect.stringContaining("No space left on device") });
  await rig.sh(pod, "rm /tmp/large");
  expect((await rig.sh(pod, "echo again > /tmp/small")).code).toBe(0);
});

test("a reader that has enough ends a writer that never would", async () => {
  expect((await rig.sh(pod, "while true; do echo y; done | head -n 2; echo done")).out).toBe("y\ny\ndone\n");
});

test("an aborted command ends, also in a loop of nothing, and does nothing any more", async () => {
  for (const script of ["while true; do true; done", "sleep 1000; echo late > /tmp/late", "cat"]) {
    const controller = new AbortController();
    const running = rig.provider.runInContainer(
      pod,
      "main",
      ["sh", "-c", script],
      captureIO({ stdin: new PassThrough() }),
      controller.signal,
    );
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error("the client is gone"));
    await expect(running).rejects.toThrow("the client is gone");
  }
  expect((await rig.sh(pod, "test -e /tmp/late")).code).toBe(1);
});

test("on a terminal the shell prompts and echoes, lines end with CR LF, and Ctrl-C ends what runs, not the shell", async () => {
  const stdin = new PassThrough();
  const io = captureIO({ stdin, tty: true });
  const running = rig.provider.runInContainer(pod, "main", ["sh"], io, rig.signal);

  const until = async (text: string): Promise<void> => {
    while (!io.out().includes(text)) await new Promise((resolve) => setImmediate(resolve));
  };
  stdin.write("echo hix\u007f\r");
  await until("\r\nhi\r\n");
  stdin.write("sleep 1000\r");
  await until("sleep 1000\r\n");
  stdin.write("\u0003");
  await until("^C\r\n/work # ");
  stdin.write("echo $?\r");
  await until("130\r\n");
  stdin.write("stty size\r");
  await until("24 80\r\n");
  stdin.write("\u0004");

  expect((await running).exitCode).toBe(0);
  expect(io.out()).toContain("/work # echo hix\b \b\r\nhi\r\n/work # sleep 1000\r\n^C\r\n/work # echo $?\r\n130\r\n");
});

test("the terminal has the size the client tells", async () => {
  const io = { ...captureIO({ tty: true, stdin: new PassThrough() }), resizes: sizes() };
  await rig.provider.runInContainer(pod, "main", ["stty", "size"], io, rig.signal);
  expect(io.out()).toBe("33 101\r\n");

  async function* sizes(): AsyncGenerator<{ width: number; height: number }> {
    yield { width: 101, height: 33 };
  }
});

test("a terminal that nobody types on shows lines with CR LF all the same", async () => {
  const io = captureIO({ tty: true });
  await rig.provider.runInContainer(pod, "main", ["sh", "-c", "echo one; cat; echo two >&2"], io, rig.signal);
  expect(io.out()).toBe("one\r\ntwo\r\n");
});
