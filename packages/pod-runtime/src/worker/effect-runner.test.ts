import { VirtualClock } from "@virtual-kubelet/clock";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Container, Pod, PodSpec, ProviderPodStatus } from "@virtual-kubelet/core";
import { ConflictError, InvalidInputError, NotFoundError, UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { PodNotice } from "../pod/pod-effect.ts";
import type { RuntimeContainerState } from "../runtime/container-runtime.ts";
import type { ContainerSpec, SandboxSpec } from "../runtime/runtime-spec.ts";
import { FakeRuntime } from "../test-support/fake-runtime.ts";
import { FakeStorage } from "../test-support/fake-storage.ts";
import { plainPreparation } from "../test-support/plain-preparation.ts";
import { podWith } from "../test-support/pod-rig.ts";
import { adoptPod } from "./adopt.ts";
import type { PodCgroupKeeper } from "./pod-cgroup-keeper.ts";
import { PodWorker, type PodWorkerOptions } from "./pod-worker.ts";

const owner = { clusterId: "c", nodeName: "n" };
const ref = { namespace: "default", name: "web", uid: "u1" };
const never = new AbortController().signal;
const exec = { command: ["true"] };

const podOf = (container: Partial<Container> = {}, more: Partial<PodSpec> = {}): Pod =>
  podWith({ containers: [{ name: "app", image: "app:1", ...container }], ...more });

/** Cgroups that record their calls, and fail where a test says so. */
class FakeKeeper implements PodCgroupKeeper {
  readonly calls: string[] = [];
  readonly failures = new Map<string, Error>();
  parent: string | undefined = "/vkpods/podu1";

  async prepare(): Promise<string | undefined> {
    await this.#call("prepare");
    return this.parent;
  }

  grow(): Promise<void> {
    return this.#call("grow");
  }

  fit(): Promise<void> {
    return this.#call("fit");
  }

  release(): Promise<void> {
    return this.#call("release");
  }

  async #call(name: string): Promise<void> {
    this.calls.push(name);
    const failure = this.failures.get(name);
    this.failures.delete(name);
    if (failure) throw failure;
  }
}

/** A pod's worker on a fake runtime. */
class EffectRig {
  readonly clock = new VirtualClock();
  readonly runtime = new FakeRuntime(this.clock);
  readonly notices: PodNotice[] = [];
  readonly errors: string[] = [];
  report: ProviderPodStatus | undefined;
  readonly #abort = new AbortController();

  async start(pod: Pod, more: Partial<PodWorkerOptions> = {}): Promise<PodWorker> {
    const inventory = { sandboxes: [...this.runtime.sandboxes.values()], containers: [...this.runtime.containers.values()] };
    const note = (_: unknown, message: string): void => void this.errors.push(message);
    const worker = new PodWorker({
      ref,
      owner,
      state: adoptPod(pod, { inventory }, { wallMs: this.clock.now(), monotonicMs: this.clock.monotonic() }),
      runtime: this.runtime,
      clock: this.clock,
      logger: { ...silentLogger, warn: note, error: note },
      prepare: plainPreparation,
      onReport: (report) => (this.report = report),
      onNotice: (notice) => void this.notices.push(notice),
      ...more,
    });
    void worker.run(this.#abort.signal).catch(() => {});
    await this.clock.advance(0);
    return worker;
  }

  end(): void {
    this.#abort.abort(new Error("killed"));
  }

  /** Recorded events in short form: `Warning Failed: Error: no`. */
  get told(): readonly string[] {
    return this.notices.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  }

  get status(): NonNullable<ProviderPodStatus["containerStatuses"]>[number] | undefined {
    return this.report?.containerStatuses?.[0];
  }

  /** Calls of a method so far. */
  callsOf(method: string): readonly string[] {
    return this.runtime.calls.filter((call) => call.split(" ")[0] === method);
  }
}

/** Records the specs of sandboxes and containers. */
function capture(runtime: FakeRuntime): { readonly sandboxes: SandboxSpec[]; readonly containers: ContainerSpec[] } {
  const [sandboxes, containers]: [SandboxSpec[], ContainerSpec[]] = [[], []];
  const [createSandbox, createContainer] = [runtime.createSandbox.bind(runtime), runtime.createContainer.bind(runtime)];
  runtime.createSandbox = (spec) => {
    sandboxes.push(spec);
    return createSandbox(spec);
  };
  runtime.createContainer = (id, spec) => {
    containers.push(spec);
    return createContainer(id, spec);
  };
  return { sandboxes, containers };
}

describe("a sandbox", () => {
  test("has the labels that identify it, in addition to those of its preparation, and the pod's cgroup", async () => {
    const rig = new EffectRig();
    const { sandboxes } = capture(rig.runtime);
    const sandbox: typeof plainPreparation.sandbox = async (...given) => ({
      ...(await plainPreparation.sandbox(...given)),
      labels: { own: "1" },
      cgroupParent: "/other",
    });

    await rig.start(podOf(), { cgroups: new FakeKeeper(), prepare: { ...plainPreparation, sandbox } });

    expect(sandboxes).toMatchObject([
      {
        labels: {
          own: "1",
          "io.kubernetes.pod.uid": "u1",
          "io.kubernetes.pod.name": "web",
          "virtual-kubelet.io/cluster": "c",
          "virtual-kubelet.io/attempt": "0",
        },
        hostname: "web",
        cgroupParent: "/vkpods/podu1",
      },
    ]);
  });

  test("of a pod without a cgroup has the cgroup of its preparation, or none", async () => {
    for (const cgroupParent of ["/other", undefined]) {
      const rig = new EffectRig();
      const { sandboxes } = capture(rig.runtime);
      const keeper = new FakeKeeper();
      keeper.parent = undefined;
      const sandbox: typeof plainPreparation.sandbox = async (...given) => ({
        ...(await plainPreparation.sandbox(...given)),
        ...(cgroupParent !== undefined && { cgroupParent }),
      });

      await rig.start(podOf(), { cgroups: keeper, prepare: { ...plainPreparation, sandbox } });

      expect(sandboxes.map((spec) => ("cgroupParent" in spec ? spec.cgroupParent : "none"))).toEqual([cgroupParent ?? "none"]);
    }
  });

  test("is created after the pod's volumes, and a failed volume is reported as such", async () => {
    const rig = new EffectRig();
    const storage = new FakeStorage();
    storage.failures.push(new Error("no such disk"), Object.assign(new Error("told already"), { waitingReason: "ContainerCreating" }));
    await rig.start(podOf(), { storage });
    expect([rig.told, rig.callsOf("createSandbox")]).toEqual([["Warning FailedMount: no such disk"], []]);

    await rig.clock.advance(1_000);
    expect(rig.told).toHaveLength(1);
    await rig.clock.advance(2_000);

    expect(rig.status).toMatchObject({ ready: true });
    expect(storage.pods).toEqual(new Set(["u1"]));
  });

  test("that cannot be prepared is reported as such", async () => {
    const rig = new EffectRig();
    const sandbox = (): Promise<never> => Promise.reject(new InvalidInputError("no such name server"));

    await rig.start(podOf(), { prepare: { ...plainPreparation, sandbox } });

    expect(rig.told).toEqual(["Warning FailedCreatePodSandBox: Failed to create pod sandbox: no such name server"]);
    expect(rig.errors).toEqual(["the runtime failed"]);
  });

  test("that fails while the program ends is not reported", async () => {
    const rig = new EffectRig();
    const made = Promise.withResolvers<never>();
    rig.runtime.createSandbox = () => made.promise;
    await rig.start(podOf());

    rig.end();
    made.reject(new Error("the program ends"));
    await rig.clock.advance(60_000);

    expect([rig.told, rig.errors]).toEqual([[], []]);
  });
});

describe("a container", () => {
  test("has the labels that identify it, and those of its origin", async () => {
    const rig = new EffectRig();
    const { containers } = capture(rig.runtime);
    const container: typeof plainPreparation.container = async (start, signal) => ({
      ...(await plainPreparation.container(start, signal)),
      labels: { own: String(start.attempt) },
    });

    await rig.start(podOf({ lifecycle: { stopSignal: "SIGINT" } }), { prepare: { ...plainPreparation, container } });

    expect(containers).toMatchObject([
      {
        labels: {
          own: "0",
          "io.kubernetes.pod.uid": "u1",
          "io.kubernetes.container.name": "app",
          "virtual-kubelet.io/attempt": "0",
          "virtual-kubelet.io/spec-hash": expect.stringMatching(/^[0-9a-f]{16}$/),
          "virtual-kubelet.io/role": "main",
          "virtual-kubelet.io/image": "app:1",
          "virtual-kubelet.io/lifecycle": '{"lifecycle":{"stopSignal":"SIGINT"}}',
        },
        imageId: "app:1@sha256:1",
      },
    ]);
  });

  test("is reported step by step, in a kubelet's words", async () => {
    const rig = new EffectRig();

    await rig.start(podOf());

    expect(rig.notices).toEqual([
      {
        kind: "event",
        type: "Normal",
        reason: "Pulled",
        message: 'Container image "app:1" already present on machine and can be accessed by the pod',
        container: "app",
      },
      { kind: "event", type: "Normal", reason: "Created", message: "Container created", container: "app" },
      { kind: "event", type: "Normal", reason: "Started", message: "Container started", container: "app" },
    ]);
  });

  test("has the start time and the user that the runtime reports", async () => {
    const rig = new EffectRig();
    rig.runtime.inspectContainer = async (id) => ({
      ...(rig.runtime.containers.get(id) ?? { id, sandboxId: "", labels: {}, image: "", imageId: "" }),
      user: { uid: 7, gid: 8 },
      state: { kind: "running", startedAtMs: Date.parse("2025-12-31T23:59:58Z") },
    });

    await rig.start(podOf());

    expect(rig.status).toMatchObject({ state: { running: { startedAt: "2025-12-31T23:59:58Z" } }, user: { linux: { uid: 7, gid: 8 } } });
  });

  test("has the current time as its start if the runtime does not answer", async () => {
    const rig = new EffectRig();
    await rig.clock.advance(5_000);
    rig.runtime.failNext("inspectContainer");

    await rig.start(podOf());

    expect(rig.status).toMatchObject({ state: { running: { startedAt: "2026-01-01T00:00:05Z" } } });
    expect(rig.status).not.toHaveProperty("user");
  });

  test("that ends immediately is reported as ended, with its message", async () => {
    const rig = new EffectRig();
    const storage = new FakeStorage();
    storage.messages.set("app/0", "done");
    rig.runtime.onBegun = (id) => rig.runtime.end(id, 4);

    await rig.start(podOf({}, { restartPolicy: "Never" }), { storage });

    expect(rig.report).toMatchObject({ phase: "Failed", containerStatuses: [{ state: { terminated: { exitCode: 4, message: "done" } } }] });
  });

  test("that ends immediately is reported as ended, even if it cannot be inspected again", async () => {
    const rig = new EffectRig();
    rig.runtime.onBegun = (id) => {
      rig.runtime.end(id, 4);
      rig.runtime.failures.set("inspectContainer", []);
    };
    const inspect = rig.runtime.inspectContainer.bind(rig.runtime);
    let looks = 0;
    rig.runtime.inspectContainer = (id) => (++looks > 1 ? Promise.reject(new UnavailableError("away")) : inspect(id));

    await rig.start(podOf({}, { restartPolicy: "Never" }));

    expect(rig.report).toMatchObject({ phase: "Failed", containerStatuses: [{ state: { terminated: { exitCode: 4 } } }] });
  });

  test.for([
    ["CreateContainerConfigError", "prepare"],
    ["CreateContainerError", "createContainer"],
  ] as const)("waits as %s if its step %s fails, and is retried", async ([reason, step]) => {
    const rig = new EffectRig();
    let failures = 1;
    const container: typeof plainPreparation.container = async (start, signal) => {
      if (step === "prepare" && failures-- > 0) throw new InvalidInputError("no");
      return plainPreparation.container(start, signal);
    };
    if (step !== "prepare") rig.runtime.failures.set(step, [new ConflictError("no")]);

    await rig.start(podOf(), { prepare: { ...plainPreparation, container } });
    expect(rig.status?.state).toEqual({ waiting: { reason, message: "no" } });
    expect(rig.told.at(-1)).toBe("Warning Failed: Error: no");
    await rig.clock.advance(10_000);

    expect(rig.status).toMatchObject({ ready: true, restartCount: 0 });
  });

  test("that the runtime refuses to start has failed, with the runtime's exit code", async () => {
    const rig = new EffectRig();
    rig.runtime.startContainer = async (id) => {
      const held = rig.runtime.containers.get(id);
      const state: RuntimeContainerState = { kind: "exited", exitCode: 127, finishedAtMs: 0 };
      if (held) rig.runtime.containers.set(id, { ...held, state });
      throw new InvalidInputError("no such command");
    };

    await rig.start(podOf({}, { restartPolicy: "Never" }));

    expect(rig.status?.state).toMatchObject({ terminated: { exitCode: 127, reason: "StartError", message: "no such command" } });
  });

  test("whose start is unclear is inspected before it is started again", async () => {
    const rig = new EffectRig();
    rig.runtime.failNext("startContainer");
    await rig.start(podOf());
    expect(rig.status?.state).toEqual({ waiting: { reason: "RunContainerError", message: "startContainer: the runtime is away" } });
    const before = rig.runtime.calls.length;

    await rig.clock.advance(10_000);

    const calls = rig.runtime.calls.slice(before).filter((call) => call.endsWith(" c2"));
    expect(calls).toEqual(["inspectContainer c2", "startContainer c2", "inspectContainer c2"]);
    expect(rig.status).toMatchObject({ ready: true, restartCount: 0 });
  });

  test("that an earlier program may have started is inspected first", async () => {
    const rig = new EffectRig();
    rig.runtime.stuck.add("startContainer");
    await rig.start(podOf());
    rig.end();
    rig.runtime.stuck.clear();
    const [id = ""] = rig.runtime.containers.keys();
    const held = rig.runtime.containers.get(id);
    const next = new EffectRig();
    for (const [key, sandbox] of rig.runtime.sandboxes) next.runtime.sandboxes.set(key, sandbox);
    if (held) next.runtime.containers.set(id, held);

    await next.start(podOf(), { mayHaveBegun: [id] });

    expect(next.runtime.calls.filter((call) => call.endsWith(` ${id}`))).toEqual([
      `inspectContainer ${id}`,
      `startContainer ${id}`,
      `inspectContainer ${id}`,
    ]);
  });
});

describe("an image", () => {
  test("is pulled with its credentials, and reported with its size", async () => {
    const rig = new EffectRig();
    const given: unknown[] = [];
    rig.runtime.pullImage = async (image, credentials) => {
      given.push(image, credentials);
      return { id: "app@sha256:2", sizeBytes: 42 };
    };
    const credentials = async (_: unknown, image: string) => [{ username: image, password: "p" }];

    await rig.start(podOf({ imagePullPolicy: "Always" }), { prepare: { ...plainPreparation, credentials } });

    expect(given).toEqual(["app:1", [{ username: "app:1", password: "p" }]]);
    expect(rig.status).toMatchObject({ imageID: "app@sha256:2", image: "app:1" });
    expect(rig.told.slice(0, 2)).toEqual([
      'Normal Pulling: Pulling image "app:1"',
      'Normal Pulled: Successfully pulled image "app:1" in 0s (0s including waiting). Image size: 42 bytes.',
    ]);
  });

  test.for([
    [new NotFoundError("no such image"), "ErrImagePull"],
    [new InvalidInputError("bad name"), "InvalidImageName"],
  ] as const)("that cannot be pulled because of %s waits as %s", async ([error, reason]) => {
    const rig = new EffectRig();
    rig.runtime.failures.set("pullImage", [error]);

    await rig.start(podOf({ imagePullPolicy: "Always" }));

    expect(rig.status?.state).toEqual({ waiting: { reason, message: error.message } });
  });

  test("that must not be pulled and is missing is waited for", async () => {
    const rig = new EffectRig();
    rig.runtime.failures.set("inspectImage", [new NotFoundError("none")]);

    await rig.start(podOf({ imagePullPolicy: "Never" }));

    expect(rig.status?.state?.waiting?.reason).toBe("ErrImageNeverPull");
  });

  test("is no longer pulled when the pod ends, which is not a failure", async () => {
    const rig = new EffectRig();
    let given: AbortSignal | undefined;
    rig.runtime.pullImage = (_image, _credentials, signal) => {
      given = signal;
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    };
    const worker = await rig.start(podOf({ imagePullPolicy: "Always" }));
    expect(given?.aborted).toBe(false);

    worker.send({ kind: "deleted", graceMs: 0 });
    await rig.clock.advance(0);

    expect(given?.aborted).toBe(true);
    expect(rig.told.filter((told) => told.startsWith("Warning"))).toEqual([]);
    expect(rig.runtime.sandboxes.size).toBe(0);
  });

  test("of one container continues to be pulled, whatever happens to another", async () => {
    const rig = new EffectRig();
    const signals: AbortSignal[] = [];
    rig.runtime.pullImage = (_image, _credentials, signal) => {
      if (signal) signals.push(signal);
      return new Promise(() => {});
    };
    const debug = { name: "debug", image: "debug:1", imagePullPolicy: "Always" };
    const worker = await rig.start(podOf({ imagePullPolicy: "Always" }, { ephemeralContainers: [debug] }));
    expect(signals).toHaveLength(2);

    worker.send({ kind: "updated", pod: podOf({ imagePullPolicy: "Always" }) });
    await rig.clock.advance(0);

    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    rig.end();
  });
});

describe("a stop", () => {
  test("uses the signal of the spec", async () => {
    const rig = new EffectRig();
    const given: unknown[] = [];
    const stop = rig.runtime.stopContainer.bind(rig.runtime);
    rig.runtime.stopContainer = (id, options) => {
      given.push(options);
      return stop(id, options);
    };
    const worker = await rig.start(podOf({ lifecycle: { stopSignal: "SIGINT" } }));

    worker.send({ kind: "deleted", graceMs: 5_000 });
    await rig.clock.advance(0);

    expect(given).toEqual([{ graceMs: 5_000, stopSignal: "SIGINT" }]);
  });

  test("after which the container still runs has failed, and is retried", async () => {
    const rig = new EffectRig();
    const stop = rig.runtime.stopContainer.bind(rig.runtime);
    const graces: number[] = [];
    rig.runtime.stopContainer = async (id, options) => {
      graces.push(options.graceMs);
      if (graces.length > 1) await stop(id, options);
    };
    const worker = await rig.start(podOf());

    worker.send({ kind: "deleted", graceMs: 30_000 });
    await rig.clock.advance(9_999);
    expect(graces).toEqual([30_000]);
    expect(rig.errors).toEqual(["the runtime failed"]);
    await rig.clock.advance(1);

    expect(graces).toEqual([30_000, 20_000]);
    expect(rig.runtime.sandboxes.size).toBe(0);
  });

  test("with less grace replaces the one before, whose end is ignored", async () => {
    const rig = new EffectRig();
    const signals: AbortSignal[] = [];
    rig.runtime.stopContainer = (_id, _options, signal) => {
      if (signal) signals.push(signal);
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    };
    const worker = await rig.start(podOf());
    worker.send({ kind: "deleted", graceMs: 30_000 });
    worker.send({ kind: "deleted", graceMs: 3_000 });
    await rig.clock.advance(0);

    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(rig.errors).toEqual([]);
    rig.end();
  });
});

describe("a hook", () => {
  test("that fails after the start is explained in the status", async () => {
    const rig = new EffectRig();
    rig.runtime.execExitCode = 3;
    rig.runtime.stuck.add("stopContainer");

    await rig.start(podOf({ lifecycle: { postStart: { exec } } }));

    expect(rig.status).toMatchObject({
      state: {
        waiting: {
          reason: "PostStartHookError",
          message: `Exec lifecycle hook ([true]) for Container "app" in Pod "web_default(u1)" failed - error: command 'true' exited with 3, message: ""`,
        },
      },
    });
    rig.end();
  });

  test("before the stop is run, and then the container is stopped", async () => {
    const rig = new EffectRig();
    const worker = await rig.start(podOf({ lifecycle: { preStop: { exec } } }));
    const before = rig.runtime.calls.length;

    worker.send({ kind: "deleted", graceMs: 5_000 });
    await rig.clock.advance(0);

    expect(rig.runtime.calls.slice(before, before + 2)).toEqual(["exec c2", "stopContainer c2 5000"]);
    expect(rig.told.filter((told) => told.startsWith("Warning"))).toEqual([]);
  });

  test("is aborted when its container has ended", async () => {
    const rig = new EffectRig();
    let given: AbortSignal | undefined;
    rig.runtime.exec = (_id, _command, _io, signal) => {
      given = signal;
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    };
    const worker = await rig.start(podOf({ lifecycle: { postStart: { exec } } }));
    expect(given?.aborted).toBe(false);

    rig.runtime.end("c2", 1);
    await worker.runtimeEvent({ kind: "containerExited", id: "c2" }, never);

    expect(given?.aborted).toBe(true);
    rig.end();
  });

  test("of a pod on the node's network uses the node's address", async () => {
    const rig = new EffectRig();
    const asked = Promise.withResolvers<string | undefined>();
    const server = createServer(({ url }, response) => {
      asked.resolve(url);
      response.end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const create = rig.runtime.createSandbox.bind(rig.runtime);
    rig.runtime.createSandbox = async (spec) => ({ ...(await create(spec)), ips: [] });

    await rig.start(podOf({ lifecycle: { postStart: { httpGet: { port, path: "/up" } } } }, { hostNetwork: true }), {
      hostIP: "127.0.0.1",
    });

    expect(await asked.promise).toBe("/up");
    rig.end();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("a change of resources", () => {
  const withCpu = (cpu: string): Pod => podOf({ resources: { limits: { cpu } } });

  test("grows the pod's cgroup, changes the container to its new limits, and fits the cgroup", async () => {
    const rig = new EffectRig();
    const keeper = new FakeKeeper();
    const given: unknown[] = [];
    rig.runtime.resizeContainer = async (id, limits) => void given.push(id, limits);
    const limits: typeof plainPreparation.limits = (_, { resources }) => ({ cpuShares: Number(resources?.limits?.["cpu"]) * 1024 });
    const worker = await rig.start(withCpu("1"), { cgroups: keeper, prepare: { ...plainPreparation, limits } });
    keeper.calls.length = 0;

    worker.send({ kind: "updated", pod: withCpu("2") });
    await rig.clock.advance(0);

    expect([keeper.calls, given]).toEqual([
      ["grow", "fit"],
      ["c2", { cpuShares: 2048 }],
    ]);
    expect(rig.told.slice(-2)).toEqual([
      "Normal ResizeStarted: Resize of container app started",
      "Normal ResizeCompleted: Resize of container app completed",
    ]);
  });

  test("of a cgroup that fails is reported, and retried", async () => {
    const rig = new EffectRig();
    const keeper = new FakeKeeper();
    const worker = await rig.start(withCpu("1"), { cgroups: keeper });
    keeper.failures.set("grow", new Error("the file is busy"));
    keeper.calls.length = 0;

    worker.send({ kind: "updated", pod: withCpu("2") });
    await rig.clock.advance(0);
    expect(rig.told.at(-1)).toBe("Warning ResizeError: Resize of the pod's resources failed: the file is busy");
    await rig.clock.advance(10_000);

    expect(keeper.calls).toEqual(["grow", "grow", "fit"]);
    expect(rig.status).toMatchObject({ resources: { limits: { cpu: "2" } }, restartCount: 0 });
  });

  test("that the runtime cannot make in place restarts the container, and a failed one is retried", async () => {
    const rig = new EffectRig();
    const worker = await rig.start(withCpu("1"));
    rig.runtime.failures.set("resizeContainer", [new UnavailableError("away")]);
    worker.send({ kind: "updated", pod: withCpu("2") });
    await rig.clock.advance(0);
    expect(rig.told.at(-1)).toBe("Warning ResizeError: Resize of container app failed: away");
    await rig.clock.advance(10_000);
    expect(rig.status).toMatchObject({ resources: { limits: { cpu: "2" } }, restartCount: 0 });

    rig.runtime.failures.set("resizeContainer", [new UnsupportedError("not in place")]);
    worker.send({ kind: "updated", pod: withCpu("3") });
    await rig.clock.advance(0);

    expect(rig.status).toMatchObject({ resources: { limits: { cpu: "3" } }, restartCount: 1 });
  });

  test("of a pod without a cgroup is made as well", async () => {
    const rig = new EffectRig();
    const worker = await rig.start(withCpu("1"));

    worker.send({ kind: "updated", pod: withCpu("2") });
    await rig.clock.advance(0);

    expect(rig.callsOf("resizeContainer")).toEqual(["resizeContainer c2"]);
    expect(rig.status).toMatchObject({ resources: { limits: { cpu: "2" } } });
  });

  test("delays the next start while it is in progress, whether it succeeds or not", async () => {
    const rig = new EffectRig();
    const keeper = new FakeKeeper();
    const grown = Promise.withResolvers<void>();
    const worker = await rig.start(withCpu("1"), { cgroups: Object.assign(keeper, { grow: () => grown.promise }) });
    worker.send({
      kind: "updated",
      pod: podOf({ resources: { limits: { cpu: "2" } } }, { ephemeralContainers: [{ name: "debug", image: "app:1" }] }),
    });
    await rig.clock.advance(0);
    expect(rig.callsOf("createContainer")).toHaveLength(1);

    grown.reject(new Error("busy"));
    await rig.clock.advance(0);

    expect(rig.callsOf("createContainer")).toHaveLength(2);
    rig.end();
  });
});

describe("the end of a pod", () => {
  test("removes all its objects at the runtime, including those without a sandbox, and then its data on the disk", async () => {
    const rig = new EffectRig();
    const [storage, keeper] = [new FakeStorage(), new FakeKeeper()];
    const worker = await rig.start(podOf(), { storage, cgroups: keeper });
    const held = rig.runtime.containers.get("c2");
    if (held) rig.runtime.containers.set("c9", { ...held, id: "c9", sandboxId: "gone", state: { kind: "running", startedAtMs: 1 } });
    const stranger = { ...held?.labels, "io.kubernetes.pod.uid": "u2" };
    if (held) rig.runtime.containers.set("c8", { ...held, id: "c8", sandboxId: "other", labels: stranger });

    worker.send({ kind: "deleted", graceMs: 0 });
    await rig.clock.advance(0);

    expect([[...rig.runtime.sandboxes.keys()], [...rig.runtime.containers.keys()]]).toEqual([[], ["c8"]]);
    expect([storage.pods.size, keeper.calls.at(-1)]).toEqual([0, "release"]);
    expect(rig.callsOf("killContainer")).toEqual(["killContainer c9"]);
  });

  test("is retried if the removal fails, and the data on the disk stays until then", async () => {
    const rig = new EffectRig();
    const storage = new FakeStorage();
    const worker = await rig.start(podOf(), { storage });
    rig.runtime.failNext("removeSandbox");

    worker.send({ kind: "deleted", graceMs: 0 });
    await rig.clock.advance(9_999);
    expect([rig.runtime.sandboxes.size, storage.pods.size]).toEqual([1, 1]);
    await rig.clock.advance(1);

    expect([rig.runtime.sandboxes.size, storage.pods.size]).toEqual([0, 0]);
  });

  test("is retried if the sandbox cannot be stopped", async () => {
    const rig = new EffectRig();
    const worker = await rig.start(podOf());
    rig.runtime.failNext("stopSandbox");

    worker.send({ kind: "deleted", graceMs: 0 });
    await rig.clock.advance(9_999);
    expect(rig.callsOf("removeSandbox")).toEqual([]);
    await rig.clock.advance(1);

    expect(rig.runtime.sandboxes.size).toBe(0);
  });

  test("does not depend on old containers: a failure to remove one is only logged", async () => {
    const rig = new EffectRig();
    const worker = await rig.start(podOf());
    rig.runtime.failNext("killContainer", 1);
    for (const id of ["c2", "c3", "c4"]) {
      rig.runtime.end(id, 1);
      await worker.runtimeEvent({ kind: "containerExited", id }, never);
      await rig.clock.advance(300_000);
    }

    expect(rig.errors).toEqual(["a container of an abandoned start could not be removed"]);
    expect(rig.status).toMatchObject({ restartCount: 3, ready: true });
    rig.end();
  });
});

describe("a comparison with the runtime", () => {
  test("removes leftovers of earlier sandboxes, and logs what it cannot remove", async () => {
    const rig = new EffectRig();
    const worker = await rig.start(podOf());
    const current = rig.runtime.sandboxes.get("s1");
    for (const id of ["s8", "s9"]) if (current) rig.runtime.sandboxes.set(id, { ...current, id, isReady: false });
    rig.runtime.failNext("removeSandbox");
    const inventory = () => ({ sandboxes: [...rig.runtime.sandboxes.values()], containers: [...rig.runtime.containers.values()] });

    await worker.compare(inventory(), never);
    await rig.clock.advance(0);
    expect([[...rig.runtime.sandboxes.keys()], rig.errors]).toEqual([["s1", "s8"], ["an earlier sandbox could not be removed"]]);
    await worker.compare(inventory(), never);
    await rig.clock.advance(0);

    expect([...rig.runtime.sandboxes.keys()]).toEqual(["s1"]);
    rig.end();
  });

  test("finds an ended container in the list, or by inspection if it is not listed", async () => {
    for (const isListed of [true, false]) {
      const rig = new EffectRig();
      const worker = await rig.start(podOf({}, { restartPolicy: "Never" }));
      rig.runtime.end("c2", 5);
      const containers = isListed ? [...rig.runtime.containers.values()] : [];

      await worker.compare({ sandboxes: [...rig.runtime.sandboxes.values()], containers }, never);
      await rig.clock.advance(0);

      expect(rig.status?.state, String(isListed)).toMatchObject({ terminated: { exitCode: 5 } });
    }
  });

  test("does not assume that an object is gone because a list lacks it", async () => {
    const rig = new EffectRig();
    const worker = await rig.start(podOf());

    await worker.compare({ sandboxes: [], containers: [] }, never);

    expect(rig.status).toMatchObject({ ready: true, restartCount: 0 });
    expect(rig.callsOf("inspectSandbox")).toEqual(["inspectSandbox s1"]);
    rig.end();
  });

  test("does not inspect objects that the list confirms", async () => {
    const rig = new EffectRig();
    const worker = await rig.start(podOf());
    const before = rig.runtime.calls.length;

    await worker.compare({ sandboxes: [...rig.runtime.sandboxes.values()], containers: [...rig.runtime.containers.values()] }, never);

    expect(rig.runtime.calls.slice(before)).toEqual([]);
    rig.end();
  });

  test("logs that the runtime does not answer, and assumes nothing", async () => {
    const rig = new EffectRig();
    const worker = await rig.start(podOf());
    rig.runtime.failNext("inspectContainer");
    await worker.compare({ sandboxes: [], containers: [] }, never);
    expect(rig.errors).toEqual(["the runtime could not be asked about a pod"]);

    rig.runtime.failNext("inspectSandbox");
    await worker.runtimeEvent({ kind: "sandboxStopped", id: "s1" }, never);
    rig.runtime.failNext("inspectContainer");
    await worker.runtimeEvent({ kind: "containerExited", id: "c2" }, never);

    expect(rig.errors.slice(1)).toEqual(Array.from({ length: 2 }, () => "the runtime could not be asked about a container"));
    expect(rig.status).toMatchObject({ ready: true });
    rig.end();
  });

  test("reports the pod's sandbox as gone if the runtime does not know it or it is not ready", async () => {
    for (const isKnown of [true, false]) {
      const rig = new EffectRig();
      const worker = await rig.start(podOf());
      await worker.runtimeEvent({ kind: "sandboxStopped", id: "s1" }, never);
      await worker.runtimeEvent({ kind: "sandboxStopped", id: "other" }, never);
      expect(rig.told.some((told) => told.includes("SandboxChanged"))).toBe(false);
      expect(rig.callsOf("inspectSandbox")).toEqual(["inspectSandbox s1"]);
      if (isKnown) rig.runtime.endSandbox("s1");
      else rig.runtime.sandboxes.delete("s1");

      await worker.runtimeEvent({ kind: "sandboxStopped", id: "s1" }, never);

      expect(
        rig.told.some((told) => told.includes("SandboxChanged")),
        String(isKnown),
      ).toBe(true);
      rig.end();
    }
  });

  test("does not inspect containers of other pods", async () => {
    const rig = new EffectRig();
    const worker = await rig.start(podOf());
    const before = rig.runtime.calls.length;

    await worker.runtimeEvent({ kind: "containerExited", id: "c9" }, never);

    expect(rig.runtime.calls.slice(before)).toEqual([]);
    expect(["c2", "s1", "c9"].map((id) => worker.isWatched(id))).toEqual([true, true, false]);
    rig.end();
  });
});
