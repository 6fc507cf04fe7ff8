import { duplexPair, PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import type { ContainerLogOptions, ContainerStats, PodRef } from "@virtual-kubelet/core";
import { isNotFound, isUnavailable } from "@virtual-kubelet/errdefs";
import { containerLabels, podLabels } from "@virtual-kubelet/pod-runtime";
import { eventually, leakCheck } from "@virtual-kubelet/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { capture } from "../../packages/testing/src/conformance/checks/capture.ts";
import type { DockerRuntime } from "../../providers/docker/src/docker-runtime.ts";
import type { DockerEngine } from "../../providers/docker/src/engine/docker-engine.ts";
import { connectShared, sharedApi } from "./support/docker-engine.ts";
import { RuntimeRig } from "./support/runtime-rig.ts";

const api = sharedApi();
const { signal: never } = new AbortController();
const image = "busybox:1.37";
const pod: PodRef = { namespace: "default", name: "streams", uid: "5ee0e5a5-0000-4000-8000-000000000001" };

let engine: DockerEngine & Disposable;
let owner: RuntimeRig["owner"];
let streams: DockerRuntime;
let made: string[] = [];

beforeAll(async () => {
  engine = connectShared();
  // The first request negotiates the version.
  await engine.apiVersion(never);
});

beforeEach(async () => {
  ({ owner, runtime: streams } = await RuntimeRig.open("streams", { engine }));
});

afterEach(async () => {
  await streams[Symbol.asyncDispose]();
  await Promise.all(made.map((id) => api.remove(id)));
  made = [];
});

afterAll(() => {
  engine[Symbol.dispose]();
});

/** Starts a container that runs the script and then stays running. */
async function run(script: string, config: object = {}): Promise<string> {
  const id = await api.run({
    Image: image,
    Entrypoint: ["sh", "-c", script],
    Labels: containerLabels(pod, owner, { container: "main", attempt: 0, specHash: "" }),
    ...config,
  });
  made.push(id);
  return id;
}

const stays = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

/** Script fragment that waits until the test calls {@link tell}. */
function until(word: string): string {
  return `while [ ! -e /tmp/${word} ]; do sleep 0.1; done`;
}

async function tell(id: string, word: string): Promise<void> {
  expect(await streams.exec(id, ["touch", `/tmp/${word}`], capture(), never)).toEqual({ exitCode: 0 });
}

async function logsOf(id: string, options: Partial<ContainerLogOptions> = {}): Promise<string> {
  const { data } = await streams.logs(id, { follow: false, previous: false, timestamps: false, ...options }, never);
  let all = "";
  for await (const chunk of data) all += Buffer.from(chunk as Uint8Array).toString();
  return all;
}

/** The lines without their times; each line must begin with a valid time. */
function textsOf(log: string): string[] {
  const lines = log.split("\n").slice(0, -1);
  for (const line of lines) expect(line.slice(0, 60)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z /);
  return lines.map((line) => line.slice(line.indexOf(" ") + 1));
}

describe("logs", () => {
  const long = "x".repeat(40_000);

  test.for([false, true])("long lines arrive complete and count as one line (tty: %s)", async (tty) => {
    const id = await run(`seq 3; head -c 40000 /dev/zero | tr '\\0' x; echo; echo last; ${stays}`, { Tty: tty });
    const end = tty ? "\r" : "";
    const all = ["1", "2", "3", long, "last"].map((line) => `${line}${end}`);
    await eventually(async () => expect(textsOf(await logsOf(id))).toEqual(all));

    for (const tailLines of [0, 1, 2, 3, 5, 99])
      expect(textsOf(await logsOf(id, { tailLines }))).toEqual(all.slice(Math.max(0, all.length - tailLines)));
  });

  test("both outputs are present, an ended container's log is unchanged, and the log of a missing container is not found", async () => {
    const id = await run(`echo out; ${until("seen")}; echo err >&2; exit 3`);
    // The engine reads the two outputs separately, so only output that is already stored comes first.
    await eventually(async () => expect(textsOf(await logsOf(id))).toEqual(["out"]));
    await tell(id, "seen");
    await api.json("POST", `/containers/${id}/wait`);

    expect(textsOf(await logsOf(id))).toEqual(["out", "err"]);
    expect(textsOf(await logsOf(id, { follow: true }))).toEqual(["out", "err"]);
    await expect(logsOf("0".repeat(64))).rejects.toSatisfy(isNotFound);
  });

  test.for([undefined, 0, 1])("a followed log continues until the container's end (tail: %s)", async (tailLines) => {
    const id = await run(`echo one; echo two; ${until("more")}; until [ -e /tmp/enough ]; do echo more; sleep 0.1; done; echo end`);
    await eventually(async () => expect(textsOf(await logsOf(id))).toEqual(["one", "two"]));
    const { data } = await streams.logs(id, { follow: true, previous: false, timestamps: false, tailLines }, never);
    let all = "";
    const reading = (async () => {
      for await (const chunk of data) all += Buffer.from(chunk as Uint8Array).toString();
    })();
    reading.catch(() => undefined);
    // A tail of 0 omits everything written before the follow begins, so the container writes until a line appears.
    await tell(id, "more");
    await eventually(() => expect(all).toContain(" more\n"));
    await tell(id, "enough");
    await reading;

    const tail = ["one", "two"].slice(2 - (tailLines ?? 2));
    expect(textsOf(all).slice(0, tail.length)).toEqual(tail);
    expect(
      textsOf(all)
        .slice(tail.length, -1)
        .filter((line) => line !== "more"),
    ).toEqual([]);
    expect(textsOf(all).at(-1)).toBe("end");
  });

  test("all lines since a time are present", async () => {
    const id = await run(`echo one; sleep 1; echo two; ${stays}`);
    await eventually(async () => expect(textsOf(await logsOf(id))).toHaveLength(2));
    const [, second = ""] = (await logsOf(id)).split("\n");
    const sinceTime = second.slice(0, second.indexOf(" "));

    expect(textsOf(await logsOf(id, { sinceTime }))).toEqual(["two"]);
    expect(textsOf(await logsOf(id, { sinceTime, tailLines: 1 }))).toEqual(["two"]);
  });

  test("an aborted follow leaves nothing open", async () => {
    const id = await run(`echo one; ${stays}`);
    await using _ = leakCheck();
    const controller = new AbortController();
    const { data } = await streams.logs(id, { follow: true, previous: false, timestamps: false }, controller.signal);
    for await (const _chunk of data) break;
    const again = await streams.logs(id, { follow: true, previous: false, timestamps: false }, controller.signal);
    const reading = (async () => {
      for await (const _chunk of again.data);
    })();
    await setTimeout(100);
    const reason = new Error("the client is gone");
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
  });
});

describe("commands", () => {
  test("outputs are separate, and the exit code is reported", async () => {
    const id = await run(stays);
    for (const [script, exitCode] of [
      ["echo out; echo err >&2; exit 3", 3],
      ["echo out; echo err >&2; kill -9 $$", 137],
    ] as const) {
      const io = capture();
      expect(await streams.exec(id, ["sh", "-c", script], io, never)).toEqual({ exitCode });
      expect([io.out(), io.err()]).toEqual(["out\n", "err\n"]);
    }
  });

  test("megabytes of input are echoed to a slow reader", async () => {
    const id = await run(stays);
    const bytes = Buffer.alloc(8 * 1024 * 1024, "0123456789abcdef\n");
    const pieces = Array.from({ length: Math.ceil(bytes.length / 50_000) }, (_, index) =>
      bytes.subarray(index * 50_000, (index + 1) * 50_000),
    );
    const io = capture({ stdin: Readable.from(pieces) });

    expect(await streams.exec(id, ["cat"], io, never)).toEqual({ exitCode: 0 });
    expect(io.outBytes().equals(bytes)).toBe(true);
  });

  test.for([
    ["/no/such", 127, "no such file"],
    ["no-such", 127, "executable file not found"],
    ["/etc/passwd", 126, "permission denied"],
  ] as const)("the command %s cannot be started, and the error says why", async ([command, exitCode, why]) => {
    const id = await run(stays);
    const io = capture();

    expect(await streams.exec(id, [command], io, never)).toEqual({ exitCode });
    expect(io.out()).toBe("");
    expect(io.err()).toContain(why);
  });

  test("a terminal has the requested size", async () => {
    const id = await run(stays);
    const stdin = new PassThrough();
    const io = capture({ stdin, resizes: Readable.from([{ width: 101, height: 33 }]) });

    // The size is sent after the start.
    const waits = 'for i in $(seq 600); do [ "$(stty size)" = "33 101" ] && break; sleep 0.1; done';
    await streams.exec(id, ["sh", "-c", `${waits}; stty size; echo err >&2`], io, never);

    expect(io.out()).toContain("33 101\r\nerr\r\n");
  });

  test("a command may end before its input", async () => {
    const id = await run(stays);
    const stdin = new PassThrough();
    stdin.write("asked\n");
    const io = capture({ stdin });

    expect(await streams.exec(id, ["sh", "-c", "read line; echo $line; exit 6"], io, never)).toEqual({ exitCode: 6 });
    expect(io.out()).toBe("asked\n");
    stdin.destroy();
  });

  test("a call waits for a command that closes its output early", async () => {
    const id = await run(stays);

    expect(await streams.exec(id, ["sh", "-c", "exec >&- 2>&-; sleep 1; exit 4"], capture(), never)).toEqual({ exitCode: 4 });
  });

  test.for([0, 5, 20, 300])("a command is killed with its children when its client disconnects after %i ms", async (ms) => {
    const id = await run(stays);
    await using _ = leakCheck({ closingMs: 30_000 });
    const controller = new AbortController();
    const call = streams.exec(
      id,
      ["sh", "-c", "sleep 4321 | cat; echo late > /tmp/late"],
      capture({ stdin: new PassThrough() }),
      controller.signal,
    );
    const settled = call.catch((error: unknown) => error);
    await setTimeout(ms);
    const reason = new Error("the client is gone");
    controller.abort(reason);

    expect(await settled).toBe(reason);
    await eventually(async () => {
      const io = capture();
      await streams.exec(id, ["ps"], io, never);
      expect(io.out()).not.toContain("4321");
    });
  });

  test("commands in a stopped container are refused", async () => {
    const id = await run("exit 0");
    await api.json("POST", `/containers/${id}/wait`);

    await expect(streams.exec(id, ["true"], capture(), never)).rejects.toSatisfy(isNotFound);
    await expect(streams.exec("0".repeat(64), ["true"], capture(), never)).rejects.toSatisfy(isNotFound);
  });
});

describe("attach", () => {
  test("the container's input stays open when clients disconnect", async () => {
    const id = await run("exec cat", { OpenStdin: true });
    for (const word of ["first", "second"]) {
      await using _ = leakCheck();
      const io = capture({ stdin: new PassThrough() });
      const controller = new AbortController();
      const attached = streams.attach(id, io, controller.signal).catch((error: unknown) => error);
      (io.stdin as PassThrough).write(`${word}\n`);
      await eventually(() => expect(io.out()).toBe(`${word}\n`));
      const reason = new Error("the client is gone");
      controller.abort(reason);
      expect(await attached).toBe(reason);
      io.stdin?.destroy();
    }
    expect(await api.json("GET", `/containers/${id}/json`)).toMatchObject({ State: { Running: true } });
  });

  test("with stdinOnce the container sees the end of the client's input", async () => {
    const id = await run("exec cat", { OpenStdin: true, StdinOnce: true, AttachStdin: true });
    const io = capture({ stdin: Readable.from([Buffer.from("all of it\n")]) });

    await streams.attach(id, io, never);

    expect(io.out()).toBe("all of it\n");
    await eventually(async () =>
      expect(await api.json("GET", `/containers/${id}/json`)).toMatchObject({ State: { Running: false, ExitCode: 0 } }),
    );
  });

  test("an attached terminal has the client's size, and the detach keys are passed to the shell", async () => {
    const id = await run("exec cat -v", { Tty: true, OpenStdin: true });
    const stdin = new PassThrough();
    const io = capture({ stdin, resizes: Readable.from([{ width: 91, height: 19 }]) });
    const attached = streams.attach(id, io, never);
    stdin.write("\u0010\u0011x\n");
    await eventually(() => expect(io.out()).toContain("^P"));
    await eventually(async () => {
      const size = capture();
      await streams.exec(id, ["sh", "-c", "stty size </proc/1/fd/0"], size, never);
      expect(size.out()).toBe("19 91\n");
    });
    stdin.write("\u0004");
    await attached;
  });

  test("attach ends with the container, and an ended container is not found", async () => {
    const id = await run("read -r word; echo $word", { OpenStdin: true });
    const stdin = new PassThrough();
    stdin.write("bye\n");
    const io = capture({ stdin });

    await streams.attach(id, io, never);

    expect(io.out()).toBe("bye\n");
    stdin.destroy();
    await api.json("POST", `/containers/${id}/wait`);
    await expect(streams.attach(id, capture(), never)).rejects.toSatisfy(isNotFound);
  });
});

describe("port-forward", () => {
  /** Response to an HTTP request whose sender ends its direction before the response arrives. */
  async function ask(id: string, port: number): Promise<string> {
    const [client, far] = duplexPair();
    const forwarding = streams.portForward(id, port, far, never);
    forwarding.catch(() => client.destroy());
    client.on("error", () => {}).end("GET /passwd HTTP/1.0\r\n\r\n");
    const answer = await text(client).catch(() => "");
    await forwarding;
    return answer;
  }

  test.for(["127.0.0.1:8080", "[::1]:8080", "8080"])("a server on %s inside the pod is reachable", async (listen) => {
    const id = await run(`httpd -p ${listen} -h /etc; ${stays}`, { HostConfig: { Sysctls: { "net.ipv6.conf.lo.disable_ipv6": "0" } } });
    await using _ = leakCheck({ closingMs: 30_000 });

    await eventually(async () => expect(await ask(id, 8080)).toContain("app:x:1000"));
  });

  test("a server on the host's network is reachable through a pod on that network", async () => {
    const id = await run(`httpd -f -p 127.0.0.1:18079 -h /etc`, { HostConfig: { NetworkMode: "host" } });

    await eventually(async () => expect(await ask(id, 18_079)).toContain("app:x:1000"));
  });

  test("either side can send first", async () => {
    const id = await run(`while :; do echo banner | nc -l -p 7000; done`);
    const greeted = async (): Promise<void> => {
      const [client, far] = duplexPair();
      const forwarding = streams.portForward(id, 7000, far, never);
      forwarding.catch(() => client.destroy());
      const answer = text(client.on("error", () => {})).catch(() => "");
      expect(await Promise.race([answer, setTimeout(15_000, "nothing", { ref: false })])).toBe("banner\n");
      client.end();
      await forwarding;
    };
    await eventually(greeted, { timeoutMs: 100_000 });
  });

  test("a port that nothing listens on is Unavailable, and a removed pod is not found", async () => {
    const id = await run(stays);
    await using _ = leakCheck({ closingMs: 30_000 });

    await expect(ask(id, 9)).rejects.toSatisfy(isUnavailable);
    await expect(ask("0".repeat(64), 9)).rejects.toSatisfy(isNotFound);
  });

  test.for([0, 20, 60, 500])("a forward returns and leaves nothing open when its client disconnects after %i ms", async (ms) => {
    const id = await run(`nc -lk -p 7000 -e cat; ${stays}`);
    await using _ = leakCheck({ closingMs: 30_000 });
    const [client, far] = duplexPair();
    for (const end of [client, far]) end.on("error", () => {});
    const controller = new AbortController();
    const forwarding = streams.portForward(id, 7000, far, controller.signal).catch((error: unknown) => error);
    await setTimeout(ms);
    const reason = new Error("the client is gone");
    controller.abort(reason);

    const error = await forwarding;
    expect(error === reason || isUnavailable(error)).toBe(true);
    for (const end of [client, far]) end.destroy();
  });
});

describe("figures", () => {
  test("a container is measured, and its CPU time grows", async () => {
    const script = "head -c 1000000 /dev/zero > /tmp/file; echo written; while :; do :; done";
    const id = await run(script, { HostConfig: { Memory: 64 * 1024 * 1024 } });
    // The first request of figures begins to measure the disk, which is not measured again for a minute.
    await eventually(async () => expect(textsOf(await logsOf(id))).toEqual(["written"]));
    const first = await streams.stats(id, never);
    const spanOf = (from: ContainerStats, to: ContainerStats): number => Date.parse(to.cpu?.time ?? "") - Date.parse(from.cpu?.time ?? "");
    const second = await eventually(async () => {
      const measured = await streams.stats(id, never);
      expect(spanOf(first, measured)).toBeGreaterThan(1500);
      return measured;
    });

    expect(first.name).toBe("main");
    expect(Date.parse(first.startTime)).toBeGreaterThan(Date.now() - 600_000);
    const used = (second.cpu?.usageCoreNanoSeconds ?? 0) - (first.cpu?.usageCoreNanoSeconds ?? 0);
    // The container spins on at most one core. The engine records the time slightly before or after it measures.
    expect(used / 1e6 / spanOf(first, second)).toBeGreaterThan(0.001);
    expect(used / 1e6 / spanOf(first, second)).toBeLessThan(3);
    expect(second.memory?.workingSetBytes).toBeGreaterThan(0);
    expect(second.memory?.availableBytes).toBeLessThan(64 * 1024 * 1024);
    await eventually(async () => expect((await streams.stats(id, never)).rootfs?.usedBytes).toBeGreaterThanOrEqual(1_000_000));
  });

  test("the traffic of a pod is measured at its sandbox", async () => {
    const sandbox = await run(`httpd -p 8080 -h /etc; ${stays}`, { Labels: podLabels(pod, owner, 0) });
    const client = await run(`wget -q -O - http://$(hostname -i):8080/passwd; ${stays}`);
    await eventually(async () => expect((await streams.network(sandbox, never)).interfaces).toHaveLength(1));

    expect(await streams.network(client, never)).toMatchObject({ name: "eth0", rxErrors: 0, txErrors: 0 });
  });

  test("stopped containers are not measured", async () => {
    const id = await run("exit 0");
    await api.json("POST", `/containers/${id}/wait`);

    await expect(streams.stats(id, never)).rejects.toSatisfy(isNotFound);
    await expect(streams.network(id, never)).rejects.toSatisfy(isNotFound);
    await expect(streams.stats("0".repeat(64), never)).rejects.toSatisfy(isNotFound);
  });
});
