import { VirtualClock } from "@virtual-kubelet/clock";
import { describe, expect, onTestFinished, test } from "vitest";
import { silentLogger, type Logger } from "../telemetry/logger.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Pod } from "../rest/objects.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";
import { ServerHistory } from "./server-history.ts";
import { resource, resources } from "../rest/resources.ts";
import { createKubeClient } from "../rest/rest-client.ts";
import { OpenBody, ScriptedTransport, type ScriptedAnswer } from "../transport/scripted-transport.ts";
import type { StoreChange } from "./store.ts";
import type { TransportRequest } from "../transport/transport.ts";

const noJitter = { next: () => 0, uuid: () => "" };
const secondMs = 1_000;

describe("Reflector's first list", () => {
  test("is streamed, and is in the store all at once when its bookmark comes", async () => {
    const { reflector, watches, clock, changes, requests } = start();
    await clock.advance(0);
    expect(requests[0]?.path).toBe(
      "/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dvk&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=300",
    );

    watches[0]?.lines(added(pod("u1", "a", "1")), added(pod("u2", "b", "2")));
    await clock.advance(0);
    expect(reflector.store.size).toBe(0);

    watches[0]?.lines(initialEventsEnd("9"));
    await reflector.synced;
    expect(changes.map((change) => `${change.type} ${change.uid}`)).toEqual(["added u1", "added u2"]);
  });

  test("is current until the watch breaks, and again once a watch is open", async () => {
    const { reflector, watches, clock } = start();
    const current = [reflector.isCurrent];
    watches[0]?.lines(added(pod("u1", "a", "1")), initialEventsEnd("9"));
    await reflector.synced;
    await clock.advance(0);
    current.push(reflector.isCurrent);

    watches[0]?.fail(new Error("connection reset"));
    await clock.advance(0);
    current.push(reflector.isCurrent);
    await clock.advance(60_000);
    current.push(reflector.isCurrent);

    expect(current).toEqual([false, true, false, true]);
  });

  test.each(["streamed", "paged"])("holds only metadata if that is enough, even of a server that sends more (%s)", async (list) => {
    const whole = { ...pod("u1", "a", "1"), spec: { nodeName: "vk", containers: [] } };
    const { reflector, watches, requests } = start({
      content: "metadata",
      answer: (request, watch) => {
        if (list === "streamed") return watch();
        if (queryOf(request).has("sendInitialEvents")) return { status: 422, body: { kind: "Status" } };
        return queryOf(request).has("watch") ? watch() : page("50", [whole]);
      },
    });
    if (list === "streamed") watches[0]?.lines(added(whole), initialEventsEnd("9"));
    await reflector.synced;

    expect([...reflector.store.list()]).toEqual([{ apiVersion: "v1", kind: "Pod", metadata: whole.metadata }]);
    expect(requests.every(({ headers }) => headers?.["accept"]?.includes("PartialObjectMetadata"))).toBe(true);
  });

  test("tells people its phase, and when it tries again after a failure", async () => {
    const { reflector, watches, clock } = start();
    watches[0]?.lines(added(pod("u1", "a", "1")), initialEventsEnd("9"));
    await reflector.synced;
    await clock.advance(0);
    const before = reflector.inspect();

    watches[0]?.fail(new Error("connection reset"));
    await clock.advance(100);
    const { failure, ...after } = reflector.inspect();

    expect(before).toEqual({ phase: "watching", objects: 1, lists: 1, endedWatches: 0, failure: undefined });
    expect(after).toEqual({ phase: "waiting", objects: 1, lists: 1, endedWatches: 1 });
    expect(failure).toMatchObject({ error: { message: expect.stringContaining("connection reset") }, attempt: 1 });
    expect(failure?.retryInMs).toBeGreaterThan(0);
    expect(failure?.retryInMs).toBeLessThanOrEqual(1_500);
  });

  test.each([
    ["current until it begins anew if the server lists, but refuses to watch", 405, [true, true]],
    ["not current while its watch fails for another reason", 503, [false, false]],
  ])("is %s", async (_, status, expected) => {
    const { reflector, clock, requests } = start({
      answer: (request) => {
        const query = queryOf(request);
        if (query.has("sendInitialEvents")) return { status: 422, body: { kind: "Status" } };
        return query.has("watch") ? { status, body: { kind: "Status" } } : page("50", [pod("u1", "a", "1")]);
      },
    });
    await reflector.synced;
    await clock.advance(0);
    const current = [reflector.isCurrent];
    await clock.advance(60 * secondMs);
    current.push(reflector.isCurrent);

    expect(current).toEqual(expected);
    expect(requests.length).toBeGreaterThan(5);
  });

  test("is not current when the server refuses to continue a watch that was open", async () => {
    let isRefused = false;
    const { reflector, watches, clock } = start({
      answer: (request, watch) => {
        if (queryOf(request).has("sendInitialEvents")) return { status: 422, body: { kind: "Status" } };
        if (!queryOf(request).has("watch")) return page("50", [pod("u1", "a", "1")]);
        return isRefused ? { status: 404, body: "default backend - 404" } : watch();
      },
    });
    await reflector.synced;
    await clock.advance(0);
    const current = [reflector.isCurrent];
    isRefused = true;
    watches[0]?.fail(new Error("connection reset"));
    await clock.advance(799);
    current.push(reflector.isCurrent);
    await clock.advance(1);
    current.push(reflector.isCurrent);

    expect(current).toEqual([true, false, false]);
  });

  test("goes on as a watch on the same connection", async () => {
    const { watches, clock, changes, requests } = await started();

    watches[0]?.lines(modified(pod("u1", "a", "10")));
    await clock.advance(0);

    expect(changes).toMatchObject([{ type: "updated", uid: "u1" }]);
    expect(requests.length).toBe(1);
  });

  test("is fetched in pages of 500 where the server refuses to stream it, with the version of the list to watch from", async () => {
    const { reflector, clock, requests } = start({
      answer: (request, watch) => {
        const query = queryOf(request);
        if (query.has("sendInitialEvents")) return { status: 422, body: { kind: "Status" } };
        if (query.has("watch")) return watch();
        if (query.has("continue")) return page("50", [pod("u2", "b", "2")]);
        return page("50", [pod("u1", "a", "1")], "next");
      },
    });

    await reflector.synced;
    await clock.advance(0);

    expect([...reflector.store.list()].map((each) => each.metadata?.uid)).toEqual(["u1", "u2"]);
    expect(requests.map((request) => Object.fromEntries(queryOf(request)))).toMatchObject([
      { sendInitialEvents: "true" },
      { limit: "500", fieldSelector: "spec.nodeName=vk" },
      { limit: "500", continue: "next" },
      { watch: "true", resourceVersion: "50", allowWatchBookmarks: "true" },
    ]);
  });

  test("is watched from the version of its first page where its pages are of several", async () => {
    const { reflector, clock, requests } = start({
      answer: pagedOnly([page("50", [pod("u1", "a", "1")], "next"), page("60", [pod("u2", "b", "55")])]),
    });
    await reflector.synced;
    await clock.advance(0);

    expect(queryOf(requests.at(-1)).get("resourceVersion")).toBe("50");
  });

  test("whose pages lead in a circle is begun anew after a wait, and the operator is told", async () => {
    const warnings: object[] = [];
    const logger: Logger = { ...silentLogger, warn: (fields) => void warnings.push(fields), child: () => logger };
    const isBroken = { value: true };
    const { reflector, clock, requests } = start({
      logger,
      answer: (request, watch) => {
        const query = queryOf(request);
        if (query.has("sendInitialEvents")) return { status: 422, body: { kind: "Status" } };
        if (query.has("watch")) return watch();
        const next = isBroken.value ? (query.get("continue") === "a" ? "b" : "a") : "";
        return page("50", [pod("u1", "a", "1")], next);
      },
    });
    await clock.advance(10 * secondMs);

    expect(requests.length).toBeLessThan(30);
    expect(warnings.slice(1)).not.toEqual([]);
    for (const warning of warnings.slice(1)) expect(String((warning as { err: unknown }).err)).toContain("the pages lead in a circle");
    isBroken.value = false;
    await clock.advance(30 * secondMs);
    expect(reflector.store.size).toBe(1);
  });

  test("without its bookmark is given up after 30 s, and after three of them fetched in pages", async () => {
    const { reflector, watches, clock, requests } = start({
      answer: (request, watch) => (queryOf(request).has("watch") ? watch() : page("50", [pod("u1", "a", "1")])),
    });
    for (let round = 0; round < 3; round++) {
      await clock.advance(0);
      expect(queryOf(requests[round]).has("sendInitialEvents")).toBe(true);
      watches[round]?.lines(added(pod("u1", "a", "1")));
      await clock.advance(32 * secondMs);
      expect(watches[round]?.left).toBe(true);
    }

    await reflector.synced;
    expect(queryOf(requests[3]).get("limit")).toBe("500");
  });

  test("that cannot be had is asked for again until it can", async () => {
    const { reflector, clock, requests, watches } = start({
      answer: (_, watch, index) => {
        if (index < 4) throw new Error("connection refused");
        return watch();
      },
    });

    await clock.advance(10 * secondMs);
    watches[0]?.lines(initialEventsEnd("1"));
    await reflector.synced;

    expect(requests.length).toBe(5);
  });
});

describe("Reflector's objects", () => {
  test("have no managed fields, and name their version and kind, listed or watched", async () => {
    const { reflector, watches, clock } = start({
      answer: (request, watch) => {
        if (queryOf(request).has("sendInitialEvents")) return { status: 400, body: {} };
        if (queryOf(request).has("watch")) return watch();
        return page("5", [pod("u1", "a", "1", { managedFields: [{ manager: "kubectl" }] })]);
      },
    });
    await reflector.synced;
    await clock.advance(0);
    watches[0]?.lines(added(pod("u2", "b", "6", { managedFields: [{ manager: "kubectl" }] })));
    await clock.advance(0);

    for (const each of reflector.store.list()) {
      expect(each).toMatchObject({ apiVersion: "v1", kind: "Pod" });
      expect(JSON.stringify(each)).not.toContain("managedFields");
    }
    expect(reflector.store.size).toBe(2);
  });

  test("are frozen if so wished", async () => {
    const { reflector } = await started({ freeze: true });

    const labels = reflector.store.get("u1")?.metadata as { name: string };
    expect(() => (labels.name = "other")).toThrow(TypeError);
  });

  test("have equal parts in common: versions of one, and objects of one controller, whatever was deleted in between", async () => {
    const parts = {
      metadata: {
        labels: { app: "web" },
        ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "rs", controller: true }],
      },
      spec: { containers: [{ name: "main", image: "i" }], tolerations: [{ operator: "Exists" }] },
    };
    const web = (uid: string, version: string, phase: string): Pod => ({
      ...pod(uid, uid, version, parts.metadata),
      spec: parts.spec,
      status: { phase },
    });
    const { reflector, watches, clock } = await started();
    watches[0]?.lines(added(web("u3", "10", "Pending")));
    await clock.advance(0);
    const first = reflector.store.get("u3");

    watches[0]?.lines(
      modified(web("u3", "11", "Running")),
      added(web("u4", "12", "Running")),
      deleted(web("u4", "13", "Failed")),
      added(web("u5", "14", "Running")),
    );
    await clock.advance(0);

    expect(reflector.store.get("u3")).toMatchObject(web("u3", "11", "Running"));
    for (const uid of ["u3", "u5"]) {
      expect(reflector.store.get(uid)?.spec).toBe(first?.spec);
      expect(reflector.store.get(uid)?.metadata?.labels).toBe(first?.metadata?.labels);
    }
    expect(reflector.store.get("u5")?.status).toBe(reflector.store.get("u3")?.status);
  });
});

describe("Reflector's watch", () => {
  test("resumes at once from the last version, of an event or a bookmark, when the server ends it", async () => {
    const { watches, clock, requests } = await started();

    watches[0]?.lines(modified(pod("u1", "a", "12"))).end();
    await clock.advance(0);
    expect(clock.monotonic()).toBe(0);
    watches[1]?.lines(bookmark("40"));
    await clock.advance(secondMs);
    watches[1]?.end();
    await clock.advance(0);

    expect(requests.slice(1).map((request) => queryOf(request).get("resourceVersion"))).toEqual(["12", "40"]);
  });

  test("that brings a bookmark and ends, again and again, is asked for less and less often", async () => {
    const { watches, clock, requests } = await started({
      answer: (_, watch, index) => {
        const answer = watch();
        if (index > 0) watches[index]?.lines(bookmark(String(index + 50))).end();
        return answer;
      },
    });
    watches[0]?.end();
    await clock.advance(60 * secondMs);

    expect(requests.length).toBeLessThan(12);
    expect(queryOf(requests[2]).get("resourceVersion")).toBe("51");
  });

  test("cut by a loaded server forty times misses nothing and lists nothing anew", async () => {
    const { reflector, watches, clock, requests, metrics } = await started();

    for (let round = 0; round < 40; round++) {
      watches[round]?.lines(modified(pod("u1", "a", String(100 + round)))).end();
      await clock.advance(0);
    }

    expect(reflector.store.get("u1")?.metadata?.resourceVersion).toBe("139");
    expect(requests.length).toBe(41);
    expect(clock.monotonic()).toBe(0);
    expect(metrics.get("vk_reflector_lists_total streamed")).toBe(1);
    expect(metrics.get("vk_reflector_watches_total ended")).toBe(40);
  });

  test("cut in the middle of a line keeps what came whole, counts the rest, and resumes", async () => {
    const { reflector, watches, clock, requests, metrics } = await started();

    watches[0]
      ?.lines(modified(pod("u1", "a", "12")))
      .text('{"type":"MODIFIED","object":{"meta')
      .end();
    await clock.advance(secondMs);

    expect(reflector.store.get("u1")?.metadata?.resourceVersion).toBe("12");
    expect(queryOf(requests[1]).get("resourceVersion")).toBe("12");
    expect(metrics.get("vk_reflector_decode_errors_total")).toBe(1);
  });

  test("keeps its version over broken connections, and waits longer each time", async () => {
    const { watches, clock, requests } = await started({
      answer: (_, watch, index) => {
        if (index > 0 && index < 4) throw new Error("connection refused");
        return watch();
      },
    });

    watches[0]?.fail(new Error("connection reset"));
    for (const delayMs of [400, 800, 1_600, 3_200]) {
      const before = requests.length;
      await clock.advance(delayMs - 1);
      expect(requests.length).toBe(before);
      await clock.advance(1);
      expect(queryOf(requests[before]).get("resourceVersion")).toBe("9");
    }
  });

  test("is asked for at once when woken, unless the server said how long to leave it alone", async () => {
    const { reflector, watches, clock, requests } = await started({
      answer: (_, watch, index) => {
        if (index === 1) throw new Error("connection refused");
        return index === 2 ? { status: 429, headers: { "retry-after": "7" }, body: {} } : watch();
      },
    });
    watches[0]?.end();
    await clock.advance(0);
    expect(requests.length).toBe(2);

    reflector.wake();
    await clock.advance(0);
    expect(requests.length).toBe(3);
    reflector.wake();
    await clock.advance(0);
    expect(requests.length).toBe(3);
  });

  test.each([
    ["as an answer", (watch: OpenBody) => void watch.end()],
    [
      "as an event, though the connection stays open",
      (watch: OpenBody) => void watch.lines({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } }),
    ],
  ])("too old, %s, leads to a new list, and to the differences since", async (_, expire) => {
    let expired = false;
    const { reflector, watches, clock, changes, metrics } = await started({
      answer: (request, watch) => {
        if (expired && queryOf(request).get("resourceVersion") === "9") return { status: 410, body: { kind: "Status", reason: "Expired" } };
        return watch();
      },
    });
    expired = true;

    const first = watches[0];
    if (first) expire(first);
    await clock.advance(secondMs);
    expect(first?.left).toBe(true);
    watches[1]?.lines(added(pod("u2", "b", "20")), added(pod("u3", "a", "21")), initialEventsEnd("25"));
    await clock.advance(0);

    expect(changes.map((change) => `${change.type} ${change.uid}`)).toEqual(["deleted u1", "updated u2", "added u3"]);
    expect(reflector.store.getByName("default", "a")?.metadata?.uid).toBe("u3");
    expect(metrics.get("vk_reflector_relist_missed_events_total")).toBe(3);
  });

  test("refused with 429 comes back no earlier than the server asked, from the same version", async () => {
    const { watches, clock, requests } = await started({
      answer: (_, watch, index) => (index === 1 ? { status: 429, headers: { "retry-after": "7" }, body: {} } : watch()),
    });

    watches[0]?.end();
    await clock.advance(0);
    expect(requests.length).toBe(2);
    await clock.advance(6_999);
    expect(requests.length).toBe(2);
    await clock.advance(1);

    expect(queryOf(requests[2]).get("resourceVersion")).toBe("9");
  });

  test("of a connection that is dead but open is broken off after three silent minutes", async () => {
    const { watches, clock, requests } = await started();

    await clock.advance(100 * secondMs);
    watches[0]?.lines(bookmark("30"));
    await clock.advance(179 * secondMs);
    expect(requests.length).toBe(1);

    await clock.advance(2 * secondMs);
    expect(watches[0]?.left).toBe(true);
    expect(queryOf(requests[1]).get("resourceVersion")).toBe("30");
  });

  test("whose end does not come is broken off five seconds after it was due", async () => {
    const { watches, clock, requests } = await started();

    for (let minute = 1; minute <= 5; minute++) {
      await clock.advance(60 * secondMs);
      watches[0]?.lines(bookmark(String(30 + minute)));
    }
    await clock.advance(4 * secondMs);
    expect(requests.length).toBe(1);

    await clock.advance(2 * secondMs);
    expect(queryOf(requests[1]).get("resourceVersion")).toBe("35");
  });

  test("with an object that has no UID is an error, not a surprise", async () => {
    const { watches, clock, metrics } = await started();

    watches[0]?.lines({ type: "ADDED", object: { metadata: { name: "x", resourceVersion: "10" } } });
    await clock.advance(secondMs);

    expect(metrics.get("vk_reflector_decode_errors_total")).toBe(1);
  });
});

describe("Reflector.run", () => {
  test("resolves when aborted, in every phase, and leaves neither connection nor timer", async () => {
    const answers: Record<string, (request: TransportRequest, watch: () => ScriptedAnswer) => ScriptedAnswer | Promise<ScriptedAnswer>> = {
      opening: (request) =>
        new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason as Error))),
      streaming: (_, watch) => watch(),
      waiting: () => ({ status: 503, body: {} }),
    };
    for (const answer of Object.values(answers)) {
      const { running, abort, watches, clock, reflector } = start({ answer });
      await clock.advance(0);

      abort.abort(new Error("stopping"));
      await running;

      expect(clock.pending).toBe(0);
      expect(watches.every((watch) => watch.left)).toBe(true);
      await expect(reflector.synced).rejects.toThrow("stopping");
    }
  });

  test("tells when it last heard from the server", async () => {
    const { reflector, clock, watches } = start();
    expect(reflector.lastContactMs).toBeUndefined();
    await clock.advance(5 * secondMs);
    expect(reflector.lastContactMs).toBe(0);

    watches[0]?.lines(initialEventsEnd("1"));
    await clock.advance(0);
    expect(reflector.lastContactMs).toBe(5 * secondMs);
  });
});

describe("Reflector's requests", () => {
  test("ask for a watch of five to ten minutes, as chance says", async () => {
    for (const [chance, seconds] of [
      [0, "300"],
      [0.5, "450"],
      [0.9999, "600"],
    ] as const) {
      // oxfmt-ignore
      const { requests, clock } = start({ random: { next: () => chance, uuid: () => "" } });
      await clock.advance(0);
      expect(queryOf(requests[0]).get("timeoutSeconds")).toBe(seconds);
    }
  });

  test("use the long connections, lists too, unless told otherwise", async () => {
    for (const pool of [undefined, "quiet"] as const) {
      const { reflector, requests, clock } = start({ pool, answer: pagedOnly([page("5", [])]) });
      await reflector.synced;
      await clock.advance(0);
      expect(requests.map((request) => request.pool)).toEqual(requests.map(() => pool ?? "long"));
      expect(requests).toHaveLength(3);
    }
  });

  test("for a page that has expired ask for all in one answer, and what came before is dropped", async () => {
    const { reflector, requests, clock } = start({
      answer: pagedOnly([
        page("50", [pod("u1", "a", "1")], "next"),
        { status: 410, body: { kind: "Status", reason: "Expired" } },
        page("60", [pod("u2", "b", "2")]),
      ]),
    });
    await clock.advance(secondMs);
    await reflector.synced;

    expect([...reflector.store.list()].map((each) => each.metadata?.uid)).toEqual(["u2"]);
    expect(requests.slice(1).map((request) => [queryOf(request).get("limit"), queryOf(request).get("continue")])).toEqual([
      ["500", null],
      ["500", "next"],
      [null, null],
      [null, null],
    ]);
    expect(queryOf(requests[4]).get("resourceVersion")).toBe("60");
  });
});

describe("Reflector's first list, while it is streamed,", () => {
  test("does not hold what was deleted meanwhile, and holds the last state of what changed", async () => {
    const { reflector, watches, clock } = start();
    await clock.advance(0);

    watches[0]?.lines(
      added(pod("u1", "a", "1")),
      added(pod("u2", "b", "2")),
      deleted(pod("u1", "a", "3")),
      modified(pod("u2", "b", "4")),
      initialEventsEnd("9"),
    );
    await reflector.synced;

    expect([...reflector.store.list()].map(({ metadata }) => `${metadata?.uid} at ${metadata?.resourceVersion}`)).toEqual(["u2 at 4"]);
  });

  test("is begun anew without what came before it broke", async () => {
    const { reflector, watches, clock } = start();
    await clock.advance(0);
    watches[0]?.lines(added(pod("u1", "a", "1"))).fail(new Error("connection reset"));
    await clock.advance(secondMs);

    watches[1]?.lines(added(pod("u2", "b", "2")), initialEventsEnd("9"));
    await reflector.synced;

    expect(reflector.store.size).toBe(1);
    expect(reflector.store.get("u2")).toBeDefined();
  });

  test("may last 30 seconds, and the watch after it as long as it likes", async () => {
    const { reflector, watches, clock, requests } = start();
    await clock.advance(30 * secondMs - 1);
    expect(watches[0]?.left).toBe(false);
    watches[0]?.lines(initialEventsEnd("9"));
    await reflector.synced;

    await clock.advance(60 * secondMs);

    expect(requests).toHaveLength(1);
    expect(watches[0]?.left).toBe(false);
  });
});

describe("Reflector's objects, of whatever kind,", () => {
  test("have their resource's version and kind, also where a list leaves them out", async () => {
    const type = { apiVersion: "example.com/v1", kind: "Widget" };
    const items = [pod("u1", "a", "1"), { ...type, ...pod("u2", "b", "2") }];
    const { reflector } = start({
      resource: resource<Pod>({ group: "example.com", version: "v1", plural: "widgets", kind: "Widget", namespaced: true }),
      answer: pagedOnly([{ body: { ...type, kind: "WidgetList", metadata: { resourceVersion: "9" }, items } }]),
    });
    await reflector.synced;

    expect([...reflector.store.list()].map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)).toEqual([
      "example.com/v1 Widget",
      "example.com/v1 Widget",
    ]);
  });

  test("may be changed by who has no better sense, unless they are to be frozen", async () => {
    const { reflector } = await started();

    expect(Object.isFrozen(reflector.store.get("u1"))).toBe(false);
  });

  test.each([
    { name: "x", resourceVersion: "10" },
    { name: "x", uid: "u9" },
  ])("are not taken without UID and version: %j", async (metadata) => {
    const { reflector, watches, clock, metrics } = await started();

    watches[0]?.lines(added({ metadata }));
    await clock.advance(secondMs);

    expect(metrics.get("vk_reflector_decode_errors_total")).toBe(1);
    expect(reflector.store.size).toBe(2);
  });

  test("come in the same form when they are deleted, and a deletion of nobody is not taken", async () => {
    const { reflector, watches, clock, changes, metrics } = await started();

    watches[0]?.lines(deleted(pod("u1", "a", "10", { managedFields: [{ manager: "kubectl" }] })));
    await clock.advance(0);
    expect(changes).toMatchObject([{ type: "deleted", object: { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } } }]);
    expect(JSON.stringify(changes)).not.toContain("managedFields");
    watches[0]?.lines({ type: "DELETED", object: { metadata: { name: "b", resourceVersion: "11" } } });
    await clock.advance(0);

    expect(metrics.get("vk_reflector_decode_errors_total")).toBe(1);
    expect(reflector.store.size).toBe(1);
  });

  test("are gone from the store when they are deleted", async () => {
    const { reflector, watches, clock, changes } = await started();

    watches[0]?.lines(deleted(pod("u1", "a", "10")));
    await clock.advance(0);

    expect(reflector.store.get("u1")).toBeUndefined();
    expect(changes).toMatchObject([{ type: "deleted", uid: "u1", object: { metadata: { resourceVersion: "10" } } }]);
  });
});

describe("Reflector's watch that brings nothing", () => {
  test("and ends within a second is waited for, and within the next it is resumed at once", async () => {
    const { watches, clock, requests, metrics } = await started();
    watches[0]?.end();
    await clock.advance(999);
    watches[1]?.end();
    await clock.advance(0);
    expect(requests).toHaveLength(2);
    expect(metrics.get("vk_reflector_watches_total short")).toBe(1);
    await clock.advance(400);
    expect(requests).toHaveLength(3);

    await clock.advance(1_000);
    watches[2]?.end();
    await clock.advance(0);

    expect(requests).toHaveLength(4);
    expect(requests.slice(1).map((request) => queryOf(request).get("resourceVersion"))).toEqual(["9", "9", "9"]);
  });
});

test("a watch that was resumed need not bring the end of a list", async () => {
  const { watches, clock, requests } = await started();
  watches[0]?.lines(bookmark("12")).end();
  await clock.advance(0);

  await clock.advance(120 * secondMs);

  expect(requests).toHaveLength(2);
  expect(watches[1]?.left).toBe(false);
});

describe("a reflector of a server that was restored from a backup", () => {
  test("lists anew instead of continuing, because the server continues a watch from a version of its former history", async () => {
    const { reflector, watches, clock, requests, changes, restore } = startWithHistory();
    watches[0]?.lines(added(pod("u1", "a", "1")), added(pod("u2", "b", "2")), initialEventsEnd("9"));
    await reflector.synced;
    await clock.advance(0);

    restore();
    const current = [reflector.isCurrent];
    watches[0]?.lines({ type: "MODIFIED", object: pod("u1", "a", "12") });
    await clock.advance(2_000);
    current.push(reflector.isCurrent);
    watches[1]?.lines(added(pod("u1", "a", "1")), initialEventsEnd("5"));
    await clock.advance(0);
    current.push(reflector.isCurrent);

    expect(requests.map((request) => queryOf(request).get("resourceVersion"))).toEqual([null, null]);
    expect(queryOf(requests[1]).has("sendInitialEvents")).toBe(true);
    expect(changes.map((change) => `${change.type} ${change.uid}`)).toEqual(["added u1", "added u2", "deleted u2"]);
    expect(current).toEqual([false, false, true]);
  });

  test("also replaces a continuation that only waits for its time", async () => {
    const { reflector, watches, clock, requests, restore } = startWithHistory();
    watches[0]?.lines(added(pod("u1", "a", "1")), initialEventsEnd("9"));
    await reflector.synced;
    watches[0]?.fail(new Error("connection reset"));
    await clock.advance(100);

    restore();
    await clock.advance(5_000);

    expect(requests.map((request) => queryOf(request).has("sendInitialEvents"))).toEqual([true, true]);
  });
});

test("Reflector.wake does nothing where nothing is waited for", async () => {
  const { reflector, clock, requests, watches } = await started();

  reflector.wake();
  await clock.advance(0);

  expect(requests).toHaveLength(1);
  expect(watches[0]?.left).toBe(false);
});

test("a run that is aborted before it begins asks for nothing, and its first list never comes", async () => {
  const abort = new AbortController();
  abort.abort(new Error("stopping"));

  const { reflector, running, requests } = start({ abort });
  await running;

  expect(requests).toEqual([]);
  await expect(reflector.synced).rejects.toThrow("stopping");
});

test("a run that is aborted after its first list leaves that list as it was", async () => {
  const { reflector, running, abort, watches, clock } = await started();

  abort.abort(new Error("stopping"));
  await running;

  await expect(reflector.synced).resolves.toBeUndefined();
  expect(reflector.store.size).toBe(2);
  expect(watches[0]?.left).toBe(true);
  expect(clock.pending).toBe(0);
});

test("a reflector counts under its resource, from the start", async () => {
  const told: string[] = [];
  const { reflector, watches, clock } = start({
    count: (name, labels, value = 1) => void told.push(`${name} ${JSON.stringify(labels)} ${value}`),
  });
  expect(told.splice(0)).toEqual([
    'vk_reflector_relist_missed_events_total {"resource":"pods"} 0',
    'vk_reflector_decode_errors_total {"resource":"pods"} 0',
  ]);
  await clock.advance(0);

  watches[0]?.lines(added(pod("u1", "a", "1")), initialEventsEnd("9"));
  await reflector.synced;
  expect(told.splice(0)).toEqual(['vk_reflector_lists_total {"resource":"pods","list":"streamed"} 1']);
  watches[0]?.end();
  await clock.advance(0);
  expect(told.splice(0)).toEqual(['vk_reflector_watches_total {"resource":"pods","end_reason":"ended"} 1']);
  watches[1]?.text("no JSON\n");
  await clock.advance(0);

  expect(told).toEqual([
    'vk_reflector_watches_total {"resource":"pods","end_reason":"unreadable"} 1',
    'vk_reflector_decode_errors_total {"resource":"pods"} 1',
  ]);
});

describe("What answers in the API server's place", () => {
  const impostors: [string, unknown][] = [
    ["an empty object", {}],
    ["a health page", { status: "ok" }],
    ["a failure", { kind: "Status", apiVersion: "v1", status: "Failure", code: 504, message: "upstream timeout" }],
    ["a list of another kind", { kind: "NodeList", apiVersion: "v1", metadata: { resourceVersion: "7" }, items: [] }],
    ["a list without its version", { kind: "PodList", apiVersion: "v1", metadata: {}, items: [] }],
    ["a list without items", { kind: "PodList", apiVersion: "v1", metadata: { resourceVersion: "7" } }],
  ];
  const gone = { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } };

  test.each(impostors)("with %s empties no store, is told to the operator, and is asked again until there is a list", async (_, body) => {
    const warnings: Record<string, unknown>[] = [];
    const logger: Logger = { ...silentLogger, warn: (fields) => void warnings.push(fields), child: () => logger };
    const first = page("9", [pod("u1", "a", "1"), pod("u2", "b", "2")]);
    const answers: ScriptedAnswer[] = [first, { body }, { body }, page("20", [pod("u1", "a", "1")])];
    const { reflector, watches, clock, changes } = start({ answer: pagedOnly(answers), logger });
    await reflector.synced;
    await clock.advance(0);
    changes.length = 0;
    warnings.length = 0;

    watches[0]?.lines(gone);
    await clock.advance(2 * secondMs);
    expect(reflector.store.size).toBe(2);
    expect(changes).toEqual([]);
    expect(warnings[1]).toMatchObject({ phase: "listing", next: "listing", attempt: 2, delayMs: expect.any(Number) });
    expect(String(warnings[1]?.["err"])).toMatch(/^UnavailableError: list pods: the answer has (no )?[a-zA-Z.]+.*, expected .+/);

    await clock.advance(20 * secondMs);
    expect(changes).toMatchObject([{ type: "deleted", uid: "u2", missed: true }]);
  });

  test.each(impostors)("of a later page with %s has the list begin anew, with nothing lost", async (_, body) => {
    const pages = [
      page("9", [pod("u1", "a", "1")], "next"),
      { body },
      page("9", [pod("u1", "a", "1")], "next"),
      page("9", [pod("u2", "b", "2")]),
    ];
    const { reflector, requests, clock } = start({ answer: pagedOnly(pages) });

    await clock.advance(10 * secondMs);

    expect([...reflector.store.list()].map(({ metadata }) => metadata?.uid)).toEqual(["u1", "u2"]);
    expect(requests.map((request) => queryOf(request).get("continue"))).toEqual([null, null, "next", null, "next", null]);
  });

  test.each([
    [
      "an object of another kind",
      { type: "DELETED", object: { kind: "Node", apiVersion: "v1", metadata: { uid: "u1", name: "a", resourceVersion: "10" } } },
    ],
    ["a bookmark without a version", { type: "BOOKMARK", object: { kind: "Pod", apiVersion: "v1", metadata: {} } }],
    ["what is no event", { status: "ok" }],
    ["an error that is no status", { type: "ERROR", object: { message: "bad gateway" } }],
  ])("with a watch of %s changes nothing, and is counted; the watch resumes from the last version", async (_, line) => {
    const { reflector, watches, clock, changes, metrics, requests } = await started();

    watches[0]?.lines(line);
    await clock.advance(secondMs);

    expect(changes).toEqual([]);
    expect(reflector.store.size).toBe(2);
    expect(metrics.get("vk_reflector_decode_errors_total")).toBe(1);
    expect(queryOf(requests[1]).get("resourceVersion")).toBe("9");
  });
});

test("a reflector warns once of each failure, with what comes next and when", async () => {
  const warnings: object[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (fields) => void warnings.push(fields),
    child: (fields) => (children.push(fields), logger),
  };
  const children: object[] = [];
  const { watches, clock } = await started({ logger });
  const error = new Error("connection reset");

  watches[0]?.fail(error);
  await clock.advance(secondMs);

  expect(children).toEqual([{ resource: "pods" }]);
  expect(warnings).toEqual([{ phase: "watching", next: "listed", attempt: 1, delayMs: 400, err: error }]);
});

type Answer = (request: TransportRequest, watch: () => ScriptedAnswer, index: number) => ScriptedAnswer | Promise<ScriptedAnswer>;

interface Started {
  readonly reflector: Reflector<Pod>;
  readonly running: Promise<void>;
  readonly abort: AbortController;
  readonly clock: VirtualClock;
  readonly watches: OpenBody[];
  readonly requests: readonly TransportRequest[];
  readonly changes: StoreChange<Pod>[];
  readonly metrics: Map<string, number>;
}

interface StartOptions extends Partial<
  Pick<ReflectorOptions<Pod>, "content" | "freeze" | "history" | "logger" | "pool" | "random" | "resource">
> {
  readonly answer?: Answer;
  readonly abort?: AbortController;
  /** Instead of the rig's own. */
  readonly count?: Metrics["count"];
}

function start({
  answer = (_, watch) => watch(),
  abort = new AbortController(),
  count,
  logger = silentLogger,
  random = noJitter,
  resource: watched = resources.pods,
  ...options
}: StartOptions = {}): Started {
  const clock = new VirtualClock();
  const watches: OpenBody[] = [];
  const watch = (): ScriptedAnswer => {
    const body = new OpenBody();
    watches.push(body);
    return { body };
  };
  const transport = new ScriptedTransport((request, index) => answer(request, watch, index));
  const counts = new Map<string, number>();
  const addUp: Metrics["count"] = (name, labels = {}, value = 1) => {
    const key = [name, labels["list"] ?? labels["end_reason"]].filter(Boolean).join(" ");
    counts.set(key, (counts.get(key) ?? 0) + value);
  };
  const metrics: Metrics = { count: count ?? addUp, gauge() {}, observe() {} };
  const client = createKubeClient(transport, { clock });
  const query = { fieldSelector: "spec.nodeName=vk" };
  const reflector = new Reflector<Pod>({ client, resource: watched, query, clock, random, logger, metrics, ...options });
  const changes: StoreChange<Pod>[] = [];
  reflector.store.subscribe((change) => void changes.push(change));
  const running = reflector.run(abort.signal);
  onTestFinished(async () => {
    abort.abort();
    await running;
  });
  return { reflector, running, abort, clock, watches, requests: transport.requests, changes, metrics: counts };
}

/** A server that does not stream its lists; these are the answers to what is listed. */
function pagedOnly(answers: ScriptedAnswer[]): Answer {
  return (request, watch) => {
    const query = queryOf(request);
    if (query.has("sendInitialEvents")) return { status: 422, body: { kind: "Status" } };
    return query.has("watch") ? watch() : (answers.shift() ?? { status: 500 });
  };
}

/** A reflector that holds pods `u1` (name `a`) and `u2` (name `b`) at version 9. */
/** Starts a reflector with a history. `restore` tells it that the server was restored from a backup. */
function startWithHistory(): Started & { readonly restore: () => void } {
  const history = new ServerHistory({ server: "the API server", logger: silentLogger });
  history.note("9");
  return { ...start({ history }), restore: () => history.note("5") };
}

async function started(options: Parameters<typeof start>[0] = {}): Promise<Started> {
  const all = start(options);
  await all.clock.advance(0);
  all.watches[0]?.lines(added(pod("u1", "a", "1")), added(pod("u2", "b", "2")), initialEventsEnd("9"));
  await all.reflector.synced;
  await all.clock.advance(0);
  all.changes.length = 0;
  return all;
}

function pod(uid: string, name: string, resourceVersion: string, metadata: object = {}): Pod {
  return { metadata: { uid, name, namespace: "default", resourceVersion, ...metadata } };
}

function added(object: Pod): object {
  return { type: "ADDED", object: { kind: "Pod", apiVersion: "v1", ...object } };
}

function modified(object: Pod): object {
  return { type: "MODIFIED", object: { kind: "Pod", apiVersion: "v1", ...object } };
}

function deleted(object: Pod): object {
  return { type: "DELETED", object: { kind: "Pod", apiVersion: "v1", ...object } };
}

function bookmark(resourceVersion: string): object {
  return {
    type: "BOOKMARK",
    object: { kind: "Pod", apiVersion: "v1", metadata: { resourceVersion }, spec: { containers: null }, status: {} },
  };
}

function initialEventsEnd(resourceVersion: string): object {
  return {
    type: "BOOKMARK",
    object: { kind: "Pod", apiVersion: "v1", metadata: { resourceVersion, annotations: { "k8s.io/initial-events-end": "true" } } },
  };
}

function page(resourceVersion: string, items: readonly Pod[], next = ""): ScriptedAnswer {
  return { body: { kind: "PodList", apiVersion: "v1", metadata: { resourceVersion, continue: next }, items } };
}

function queryOf(request: TransportRequest | undefined): URLSearchParams {
  return new URL(request?.path ?? "/", "http://server").searchParams;
}
