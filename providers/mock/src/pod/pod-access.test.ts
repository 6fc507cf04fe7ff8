import { systemClock, VirtualClock } from "@virtual-kubelet/clock";
import { isNotFound, isUnavailable } from "@virtual-kubelet/errdefs";
import type { ContainerLogOptions, PodRef } from "@virtual-kubelet/core";
import { once } from "node:events";
import { duplexPair, PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { extract } from "tar-stream";
import { beforeEach, describe, expect, test } from "vitest";
import { captureIO, MockRig, podOf } from "../test-support/mock-rig.ts";

const plain: ContainerLogOptions = { follow: false, previous: false, timestamps: false };
let clock: VirtualClock;
let rig: MockRig<VirtualClock>;

beforeEach(() => {
  clock = new VirtualClock(Date.UTC(2026, 0, 1));
  rig = new MockRig(clock);
});

async function logs(pod: PodRef, options: Partial<ContainerLogOptions> = {}): Promise<string> {
  const { data, live } = await rig.provider.getContainerLogs(pod, "main", { ...plain, ...options }, rig.signal);
  let all = "";
  for await (const chunk of data) all += String(chunk);
  for await (const chunk of live ?? []) all += String(chunk);
  return all;
}

describe("logs", () => {
  test("a container without a log says what it is", async () => {
    const pod = await rig.create(podOf());

    expect(await logs(pod)).toBe(
      "2026-01-01T00:00:00.000Z container main of pod default/web started; image nginx runs in the mock provider's memory only\n",
    );
  });

  test("a configured log is written at the start, or a line at a time, over and over", async () => {
    const pod = await rig.create(podOf({ script: { log: "one\ntwo\n" } }));
    const slow = await rig.create(podOf({ name: "slow", script: { log: "a\nb", "log-every": "2s" } }));
    await clock.advance(5000);

    expect(await logs(pod)).toBe("2026-01-01T00:00:00.000Z one\n2026-01-01T00:00:00.000Z two\n");
    expect(await logs(slow)).toBe("2026-01-01T00:00:00.000Z a\n2026-01-01T00:00:02.000Z b\n2026-01-01T00:00:04.000Z a\n");
    expect(await logs(slow, { tailLines: 1 })).toBe("2026-01-01T00:00:04.000Z a\n");
    expect(await logs(slow, { tailLines: 0 })).toBe("");
    expect(await logs(slow, { sinceTime: "2026-01-01T00:00:02Z" })).toBe("2026-01-01T00:00:02.000Z b\n2026-01-01T00:00:04.000Z a\n");
    expect(await logs(slow, { sinceTime: "2026-01-01T00:00:02Z", tailLines: 1 })).toBe("2026-01-01T00:00:04.000Z a\n");
  });

  test("a followed log goes on until the container ends, and not into the next one", async () => {
    const pod = await rig.create(podOf({ script: { log: "tick", "log-every": "1s", "exit-after": "2500ms", "exit-code": "1" } }));

    const following = logs(pod, { follow: true });
    await clock.advance(10_000);

    expect((await following).split("\n")).toHaveLength(3 + 1);
    expect(clock.pending).toBe(1);
  });

  test("the instance before the last has its own log, and what never ran has none", async () => {
    const pod = await rig.create(podOf({ script: { log: "run", "exit-after": "1s", "exit-code": "1" } }));
    await expect(logs(pod, { previous: true })).rejects.toSatisfy(isNotFound);
    await clock.advance(1000);

    expect(await logs(pod, { previous: true })).toBe("2026-01-01T00:00:00.000Z run\n");
    expect(await logs(pod)).toBe("2026-01-01T00:00:01.000Z run\n");
    const waiting = await rig.create(podOf({ name: "waiting", script: { "start-delay": "1h" } }));
    await expect(logs(waiting)).rejects.toSatisfy(isNotFound);
    await expect(logs({ ...pod, uid: "other" })).rejects.toSatisfy(isNotFound);
  });

  test("a reader that is gone leaves no timer behind", async () => {
    const pod = await rig.create(podOf({ script: { log: "tick", "log-every": "1s" } }));
    const controller = new AbortController();
    const { live } = await rig.provider.getContainerLogs(pod, "main", { ...plain, follow: true }, controller.signal);

    const next = live?.[Symbol.asyncIterator]().next();
    controller.abort(new Error("gone"));

    await expect(next).rejects.toThrow("gone");
    expect(clock.pending).toBe(0);
  });
});

describe("files", () => {
  test("volumes are where they are mounted: those of the cluster as they are now, an emptyDir shared and writable", async () => {
    const mounts = [
      { name: "settings", mountPath: "/etc/settings" },
      { name: "settings", mountPath: "/one", subPath: "a.conf" },
      { name: "shared", mountPath: "/shared" },
    ];
    rig.referred.volumes = { settings: { "a.conf": "first", "deep/b": "inner" } };
    const pod = await rig.create(
      podOf({
        containers: [
          { name: "main", image: "a", volumeMounts: mounts },
          { name: "other", image: "b", volumeMounts: [{ name: "shared", mountPath: "/mine" }] },
        ],
        volumes: [
          { name: "settings", configMap: { name: "s" } },
          { name: "shared", emptyDir: {} },
        ],
      }),
    );

    expect((await rig.sh(pod, "cat /etc/settings/a.conf /etc/settings/deep/b /one; echo shared > /shared/x")).out).toBe("firstinnerfirst");
    rig.referred.volumes = { settings: { "a.conf": "second" } };
    expect((await rig.sh(pod, "cat /etc/settings/a.conf; ls /etc/settings")).out).toBe("seconda.conf\n");
    expect((await rig.sh(pod, "echo x > /etc/settings/a.conf")).err).toBe("sh: can't open /etc/settings/a.conf: Read-only file system\n");
    const io = captureIO();
    await rig.provider.runInContainer(pod, "other", ["cat", "/mine/x"], io, rig.signal);
    expect(io.out()).toBe("shared\n");
  });

  test("a container that is started anew has none of its old files", async () => {
    const pod = await rig.create(podOf({ script: { "exit-after": "1s", "exit-code": "1" } }));
    await rig.sh(pod, "echo old > /tmp/file");
    await clock.advance(1000);

    expect((await rig.sh(pod, "test -e /tmp/file")).code).toBe(1);
  });

  test("tar packs and unpacks as kubectl cp asks it to", async () => {
    const pod = await rig.create(podOf());
    await rig.sh(pod, "mkdir -p /src/deep; echo one > /src/a; head -c 200000 /dev/zero > /src/deep/b");
    const io = captureIO();
    const packed: Buffer[] = [];
    io.stdout?.on("newListener", () => {});
    const target = new PassThrough();
    target.on("data", (chunk: Buffer) => packed.push(chunk));
    await rig.provider.runInContainer(pod, "main", ["tar", "cf", "-", "/src"], { ...io, stdout: target }, rig.signal);

    const names: string[] = [];
    const archive = extract();
    archive.end(Buffer.concat(packed));
    for await (const entry of archive) {
      names.push(`${entry.header.name} ${entry.header.size}`);
      entry.resume();
    }
    expect(names.toSorted()).toEqual(["src/ 0", "src/a 4", "src/deep/ 0", "src/deep/b 200000"]);

    const unpacked = await rig.exec(pod, ["tar", "-xmf", "-", "-C", "/dst"], Readable.from([Buffer.concat(packed)]));
    expect(unpacked).toEqual({ code: 0, out: "", err: "" });
    expect((await rig.sh(pod, "cat /dst/src/a; wc -c < /dst/src/deep/b")).out).toBe("one\n200000\n");
    expect(await rig.exec(pod, ["tar", "xf", "-"], "no archive at all".repeat(100))).toMatchObject({ code: 1 });
    expect(await rig.exec(pod, ["tar", "cf", "-", "none"])).toMatchObject({ code: 1, err: "tar: none: No such file or directory\n" });
  });
});

describe("streams", () => {
  test("attach shows what is logged from then on and echoes input, and ends with the container", async () => {
    const pod = await rig.create(podOf({ script: { log: "tick", "log-every": "1s", "exit-after": "2500ms" }, restartPolicy: "Never" }));
    const stdin = new PassThrough();
    const io = captureIO({ stdin });

    const attached = rig.provider.attachToContainer(pod, "main", io, rig.signal);
    stdin.write("typed\n");
    await clock.advance(3000);
    await attached;

    expect(io.out().split("\n").toSorted().join()).toBe(",tick,tick,typed");
  });

  test("a command is killed when its container ends", async () => {
    const pod = await rig.create(podOf({ script: { "exit-after": "2s" } }));

    const running = rig.exec(pod, ["sleep", "100"]);
    await clock.advance(2000);

    expect((await running).code).toBe(137);
    const ended = await rig.create(podOf({ name: "ended", restartPolicy: "Never", script: { "exit-after": "0s" } }));
    await expect(rig.exec(ended, ["true"])).rejects.toSatisfy(isNotFound);
  });
});

describe("port-forward", () => {
  const containers = [{ name: "main", image: "nginx", ports: [{ containerPort: 8080 }] }];

  test("a port that a container names answers HTTP, request after request, and to the end", async () => {
    const live = new MockRig(systemClock);
    const pod = await live.create(podOf({ containers }));
    const [client, server] = duplexPair();
    const forwarding = live.provider.portForward(pod, 8080, server, live.signal);

    client.write("POST /in HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc");
    const [first] = (await once(client, "data")) as [Buffer];
    client.end("GET /path HTTP/1.0\r\n\r\n");
    const rest = await text(client);
    await forwarding;

    expect(String(first)).toContain("pod default/web, port 8080: the mock provider answers\nPOST /in, 3 bytes\n");
    expect(rest).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*GET \/path, 0 bytes\n$/);
  });

  test("any other port is refused, and an aborted forward lets go of its stream", async () => {
    const pod = await rig.create(podOf({ containers }));
    const [, server] = duplexPair();
    await expect(rig.provider.portForward(pod, 9090, server, rig.signal)).rejects.toSatisfy(isUnavailable);

    const controller = new AbortController();
    const forwarding = rig.provider.portForward(pod, 8080, server, controller.signal);
    controller.abort(new Error("gone"));

    await expect(forwarding).rejects.toThrow("gone");
    expect(server.destroyed).toBe(true);
  });
});

describe("stats", () => {
  test("figures move with the clock, are the same for the same pod, and counters never fall", async () => {
    const pod = await rig.create(podOf({ script: { "cpu-usage": "500m", "memory-usage": "100Mi" } }));
    let before = 0;
    for (let second = 0; second < 300; second += 10) {
      await clock.advance(10_000);
      const container = (await rig.provider.getStatsSummary()).pods[0]?.containers[0];
      expect(container?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(before);
      before = container?.cpu?.usageCoreNanoSeconds ?? 0;
    }
    // 300 s at half a core, give or take the wave.
    expect(before / 1e9).toBeCloseTo(150, -1);
    const { pods } = await rig.provider.getStatsSummary();
    expect(pods[0]).toMatchObject({ podRef: pod, startTime: "2026-01-01T00:00:00Z" });
    expect((pods[0]?.containers[0]?.memory?.workingSetBytes ?? 0) / 1024 ** 2).toBeCloseTo(100, -2);
  });

  test("the node's counter holds what ended pods have used", async () => {
    const pod = await rig.create(podOf());
    await clock.advance(60_000);
    const before = (await rig.provider.getStatsSummary()).node?.cpu?.usageCoreNanoSeconds ?? 0;

    await rig.provider.deletePod(pod, { gracePeriodSeconds: 0 });

    const { node, pods } = await rig.provider.getStatsSummary();
    expect(pods).toEqual([]);
    expect(node?.cpu?.usageCoreNanoSeconds).toBe(before);
  });
});
