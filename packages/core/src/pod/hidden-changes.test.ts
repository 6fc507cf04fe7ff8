import type { Clock } from "@virtual-kubelet/clock";
import { ForbiddenError, InvalidInputError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import {
  ApiError,
  resources,
  type CallOptions,
  type KubernetesObject,
  type Resource,
  type WatchEvent,
  type WatchQuery,
} from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { podRef } from "../provider/pod-ref.ts";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import { NodeRig } from "../test-support/node-rig.ts";

/** An API server whose lists and watches may lack some pods. */
class LossyClient extends FakeKubeClient {
  /** Names of the pods that lists and watches lack. */
  readonly hidden = new Set<string>();
  #cut: PromiseWithResolvers<never> = Promise.withResolvers();

  /** Forgets the version of all watches: those who watch list anew. */
  expire(): void {
    const cause = new ApiError({ kind: "Status", code: 410, reason: "Expired", message: "too old resource version" });
    this.#cut.reject(new UnavailableError("watch pods: too old resource version", { cause }));
    this.#cut = Promise.withResolvers();
  }

  /** Removes pods without an event. */
  forget(...names: readonly string[]): void {
    for (const name of names) {
      this.hidden.add(name);
      this.remove(resources.pods, name, "default");
    }
  }

  override async watch<T extends KubernetesObject>(
    resource: Resource<T>,
    query: WatchQuery,
    options: CallOptions,
  ): Promise<AsyncIterable<WatchEvent<T>>> {
    const events = await super.watch(resource, query, options);
    if (resource.plural !== "pods") return events;
    const { promise } = this.#cut;
    promise.catch(() => {});
    return this.#until(promise, events[Symbol.asyncIterator]());
  }

  async *#until<T extends KubernetesObject>(cut: Promise<never>, events: AsyncIterator<WatchEvent<T>>): AsyncGenerator<WatchEvent<T>> {
    for (;;) {
      const next = events.next();
      next.catch(() => {});
      const { done, value } = await Promise.race([next, cut]);
      if (done) return;
      const event = value;
      if (event.type === "ERROR" || !this.hidden.has(event.object.metadata?.name ?? "")) yield event;
    }
  }
}

interface Rig extends AsyncDisposable {
  readonly client: LossyClient;
  readonly rig: NodeRig;
  /** Lists anew, and waits until what follows has been done. */
  relist(): Promise<void>;
  /** Pods the provider was told to end. */
  ended(): string[];
  lookUps(): number;
}

async function started(pods: readonly string[]): Promise<Rig> {
  const made: LossyClient[] = [];
  const rig = new NodeRig({
    node: { capacity: { cpu: "100", memory: "100Gi", pods: "100" } },
    client: (clock: Clock) => {
      const client = new LossyClient(clock);
      made.push(client);
      return client;
    },
  });
  const [client] = made;
  if (!client) throw new Error("the rig has made no client");
  await rig.start();
  for (const name of pods) await rig.createPod(name);
  return {
    client,
    rig,
    relist: async () => {
      client.expire();
      await rig.settle(2_000);
    },
    ended: () => rig.provider.calls.filter((call) => call.startsWith("deletePod")),
    lookUps: () => client.callsOf("get", "pods").length,
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

describe("a pod that a list lacks", () => {
  test("and that the API server still has goes on, and is asked about again", async () => {
    await using it = await started(["web"]);
    it.client.hidden.add("web");

    await it.relist();
    expect(it.lookUps()).toBe(1);
    await it.rig.settle(60_000);

    expect(it.lookUps()).toBe(3);
    expect(it.ended()).toEqual([]);
  });

  test("and the next one has goes on without a restart, and is asked about no more", async () => {
    await using it = await started(["web"]);
    it.client.hidden.add("web");
    await it.relist();

    it.client.hidden.delete("web");
    await it.relist();
    await it.rig.settle(120_000);

    expect(it.lookUps()).toBe(1);
    expect(it.rig.callsOf("createPod web")).toBe(1);
    expect(it.ended()).toEqual([]);
  });

  test("and the next one has goes on if an earlier question is answered with its absence only then", async () => {
    await using it = await started(["web"]);
    const answer = Promise.withResolvers<void>();
    const stale = it.client.intercept(async ({ verb, resource }) => {
      if (verb !== "get" || resource !== "pods") return;
      await answer.promise;
      const status = { code: 404, reason: "NotFound", details: { kind: "pods", name: "web" } };
      throw new NotFoundError("get pods default/web", { cause: new ApiError({ kind: "Status", ...status }) });
    });
    it.client.hidden.add("web");
    await it.relist();
    it.client.hidden.delete("web");
    await it.relist();
    answer.resolve();
    await it.rig.settle();
    stale[Symbol.dispose]();

    it.rig.provider.lose(podRef(it.rig.pod("web") ?? {}));
    await it.rig.settle(60_000);

    expect(it.rig.callsOf("createPod web")).toBe(2);
    expect(it.rig.pod("web")?.status?.phase).toBe("Running");
  });

  test("and of which the API server says that it is gone is ended", async () => {
    await using it = await started(["web"]);
    it.client.forget("web");

    await it.relist();

    expect(it.ended()).toEqual(["deletePod web 0"]);
  });

  test("and of which the API server says that it is gone is ended even if the API server lists, but refuses to watch", async () => {
    await using it = await started([]);
    it.client.intercept(({ verb, resource }) => {
      const cause = new ApiError({ kind: "Status", code: 405, reason: "MethodNotAllowed" });
      if (verb === "watch" && resource === "pods") throw new UnavailableError("watch pods: not allowed", { cause });
    });
    await it.relist();
    await it.rig.createPod("web");
    await it.rig.settle(60_000);
    expect(it.rig.callsOf("createPod web")).toBe(1);

    it.client.remove(resources.pods, "web", "default");
    await it.rig.settle(60_000);

    expect(it.ended()).toEqual(["deletePod web 0"]);
  });

  test("and whose name another one has by now is ended", async () => {
    await using it = await started(["web"]);
    it.client.forget("web");
    it.client.put(resources.pods, { metadata: { namespace: "default", name: "web", uid: "another" } });

    await it.relist();

    expect(it.ended()).toEqual(["deletePod web 0"]);
  });

  test.each([
    ["a load balancer's 404", () => new NotFoundError("default backend - 404", { cause: new ApiError({ code: 404 }) })],
    ["an error", () => new UnavailableError("get pods default/web: no answer")],
  ])("goes on while %s is all that comes of asking", async (_, failure) => {
    await using it = await started(["web"]);
    it.client.hidden.add("web");
    it.client.intercept(({ verb, resource }) => {
      if (verb === "get" && resource === "pods") throw failure();
    });

    await it.relist();
    await it.rig.settle(60_000);

    expect(it.lookUps()).toBeGreaterThan(1);
    expect(it.ended()).toEqual([]);
  });
});

describe("a pod that the back end no longer holds, while the watch is silent,", () => {
  test("is not created again if the API server no longer has it", async () => {
    await using it = await started(["web"]);
    const ref = podRef(it.rig.pod("web") ?? {});
    it.client.forget("web");

    it.rig.provider.lose(ref);
    await it.rig.settle(60_000);

    expect(it.rig.callsOf("createPod web")).toBe(1);
    expect(it.lookUps()).toBe(3);
  });

  test("is not created again if it is being deleted, and is finished once the watch says so", async () => {
    await using it = await started(["web"]);
    const ref = podRef(it.rig.pod("web") ?? {});
    it.client.hidden.add("web");
    await it.rig.deletePod("web", 30);

    it.rig.provider.lose(ref);
    await it.rig.settle(10_000);
    expect(it.rig.callsOf("createPod web")).toBe(1);
    expect(it.rig.pod("web")).toBeDefined();

    it.client.hidden.delete("web");
    await it.relist();
    expect(it.rig.callsOf("createPod web")).toBe(1);
    expect(it.rig.pod("web")).toBeUndefined();
  });

  test("is not created again after a failed attempt if the API server no longer has it", async () => {
    await using it = await started(["web"]);
    const ref = podRef(it.rig.pod("web") ?? {});
    it.rig.provider.script("createPod", () => {
      throw new UnavailableError("the back end is away");
    });
    it.rig.provider.lose(ref);
    await it.rig.settle(2_000);
    expect(it.rig.waitingReason("web")).toBe("ProviderFailed");

    it.client.forget("web");
    it.rig.provider.calls.length = 0;
    await it.rig.settle(300_000);

    expect(it.rig.callsOf("createPod web")).toBe(0);
    expect(it.lookUps()).toBeGreaterThan(2);
  });

  test("is not created again if somebody has called it Failed", async () => {
    await using it = await started(["web"]);
    const ref = podRef(it.rig.pod("web") ?? {});
    it.client.hidden.add("web");
    await it.rig.editPod("web", (pod) => void (pod.status = { ...pod.status, phase: "Failed", reason: "Evicted" }));

    it.rig.provider.lose(ref);
    await it.rig.settle(60_000);
    expect(it.rig.callsOf("createPod web")).toBe(1);

    it.client.hidden.delete("web");
    await it.relist();
    await it.rig.settle(60_000);
    expect(it.rig.callsOf("createPod web")).toBe(1);
    expect(it.rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "Evicted" });
  });

  test("is shown as waiting, and no longer as Ready, while the API server does not say whether it wants the pod", async () => {
    await using it = await started(["web"]);
    const ref = podRef(it.rig.pod("web") ?? {});
    const readiness = (): unknown => it.rig.pod("web")?.status?.conditions?.find(({ type }) => type === "Ready")?.status;
    const outage = it.client.intercept(({ verb, resource }) => {
      if (verb === "get" && resource === "pods") throw new ForbiddenError("pods is forbidden: cannot get resource");
    });
    expect(readiness()).toBe("True");

    it.rig.provider.lose(ref);
    await it.rig.settle(400_000);
    expect(it.rig.pod("web")?.status?.phase).toBe("Pending");
    expect([it.rig.waitingReason("web"), readiness()]).toEqual(["ProviderLost", "False"]);

    outage[Symbol.dispose]();
    await it.rig.settle(300_000);
    expect([it.rig.pod("web")?.status?.phase, readiness()]).toEqual(["Running", "True"]);
    expect(it.rig.eventsOn("web").filter((event) => event.includes("ProviderLost"))).toEqual([
      "Warning ProviderLost: Provider scripted no longer holds the pod; it is created again once the API server confirms that it is still wanted",
    ]);
  });

  test("stays as it is while the API server does not answer, if its restart policy is Never", async () => {
    await using it = await started([]);
    const ref = await it.rig.createPod("job", { restartPolicy: "Never" });
    const outage = it.client.intercept(({ verb, resource }) => {
      if (verb === "get" && resource === "pods") throw new UnavailableError("get pods default/job: no answer");
    });
    it.rig.provider.lose(ref);
    await it.rig.settle(60_000);
    expect(it.rig.pod("job")?.status?.phase).toBe("Running");

    outage[Symbol.dispose]();
    await it.rig.settle(60_000);
    expect(it.rig.pod("job")?.status).toMatchObject({ phase: "Failed", reason: "ProviderLost" });
  });

  test("does not keep others waiting that have to end, however many there are and however long the API server takes", async () => {
    const names = Array.from({ length: 99 }, (_, index) => `web-${index}`);
    await using it = await started(["deaf", ...names]);
    const { provider } = it.rig;
    provider.reports = false;
    await it.rig.deletePod("deaf", 1);
    it.client.intercept(async ({ verb, resource }) => {
      if (verb === "get" && resource === "pods") await it.rig.clock.sleep(30_000);
    });
    for (const name of names) provider.lose(podRef(it.rig.pod(name) ?? {}));
    await it.rig.settle(3_000);

    expect(it.lookUps()).toBe(50);
    expect(it.rig.callsOf("getPod deaf")).toBe(1);
  });

  test("is created again once the API server answers that it wants the pod", async () => {
    await using it = await started(["web"]);
    const ref = podRef(it.rig.pod("web") ?? {});
    let isAway = true;
    it.client.intercept(({ verb, resource }) => {
      if (isAway && verb === "get" && resource === "pods") throw new UnavailableError("get pods default/web: no answer");
    });

    it.rig.provider.lose(ref);
    await it.rig.settle(60_000);
    expect(it.rig.callsOf("createPod web")).toBe(1);

    isAway = false;
    await it.rig.settle(60_000);
    expect(it.rig.callsOf("createPod web")).toBe(2);
    expect(it.rig.pod("web")?.status?.phase).toBe("Running");
  });
});

describe("pods that a list lacks, more than ten of them,", () => {
  const names = Array.from({ length: 11 }, (_, index) => `web-${index}`);

  test("are neither asked about nor ended, and an event on the node says so", async () => {
    await using it = await started(names);
    it.client.forget(...names);

    await it.relist();
    await it.rig.settle(120_000);

    expect(it.lookUps()).toBe(0);
    expect(it.ended()).toEqual([]);
    const suspected = it.client
      .callsOf("create", "events")
      .map(({ body }) => body as { reason: string; message: string })
      .filter(({ reason }) => reason === "MassLossSuspected");
    expect(suspected).toMatchObject([{ message: expect.stringContaining("11 pods of this node are missing from the API server's list") }]);
  });

  test("are not ended one by one while no new list shows how many are missing", async () => {
    await using it = await started(names);
    it.client.hidden.add("web-0");
    await it.relist();
    expect(it.lookUps()).toBe(1);
    it.client.forget(...names);
    const away = it.client.intercept(({ verb, resource }) => {
      if ((verb === "list" || verb === "watch") && resource === "pods") throw new UnavailableError("the API server starts");
    });
    it.client.expire();
    await it.rig.settle(60_000);
    expect(it.ended()).toEqual([]);

    away[Symbol.dispose]();
    await it.rig.settle(300_000);

    expect(it.ended()).toEqual([]);
    expect(it.lookUps()).toBe(1);
  });

  test("are not ended either if the API server was asked about one of them before, and answers after the list", async () => {
    await using it = await started(names);
    const answer = Promise.withResolvers<void>();
    it.client.intercept(async ({ verb, resource }) => {
      if (verb === "get" && resource === "pods") await answer.promise;
    });
    it.client.hidden.add("web-0");
    await it.relist();
    expect(it.lookUps()).toBe(1);

    it.client.forget(...names);
    await it.relist();
    answer.resolve();
    await it.rig.settle(60_000);

    expect(it.lookUps()).toBe(1);
    expect(it.ended()).toEqual([]);
  });

  test("are forgotten if nothing of them is at the back end, since nothing is ended", async () => {
    await using it = await started([]);
    it.rig.provider.script("createPod", () => {
      throw new InvalidInputError("no such image");
    });
    for (const name of names) await it.rig.createPod(name);
    await it.rig.settle(2_000);
    expect(it.rig.node.health.knownPods).toBe(11);
    it.client.forget(...names);

    await it.relist();
    await it.rig.settle(60_000);

    expect(it.rig.node.health.knownPods).toBe(0);
    expect(it.ended()).toEqual([]);
    expect(it.rig.eventsOn(it.rig.owner.nodeName).filter((event) => event.includes("MassLossSuspected"))).toEqual([]);
  });

  test("go on when the list is whole again", async () => {
    await using it = await started(names);
    for (const name of names) it.client.hidden.add(name);
    await it.relist();

    it.client.hidden.clear();
    await it.relist();
    await it.rig.settle(120_000);

    expect(it.ended()).toEqual([]);
    expect(it.rig.provider.calls.filter((call) => call.startsWith("createPod"))).toHaveLength(11);
  });
});
