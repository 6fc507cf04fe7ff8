import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { ForbiddenError, isForbidden, isNotFound, isUnavailable, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { noMetrics, resources, silentLogger, type Secret } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import { ObjectCache } from "./object-cache.ts";

const { signal } = new AbortController();
const key = { namespace: "shop", name: "keys" };

/** A cache of secrets on a Kubernetes API in memory, on a clock that stands still. */
class Rig implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly client = new FakeKubeClient(this.clock);
  /** Who was told of a change, in order. */
  readonly told: string[] = [];
  readonly cache = new ObjectCache<Secret>({
    client: this.client,
    resource: resources.secrets,
    clock: this.clock,
    random: new SeededRandom(1),
    logger: silentLogger,
    metrics: noMetrics,
    onChange: (holder) => void this.told.push(holder),
  });

  put(value: string, change: Partial<Secret> = {}): void {
    this.client.put(resources.secrets, { metadata: { ...key }, data: { value }, ...change });
  }

  async read(holder: string | undefined = "uid-1"): Promise<string | undefined> {
    return (await this.cache.read(key, holder, signal)).data?.["value"];
  }

  async keep(holder = "uid-1"): Promise<string | undefined> {
    return (await this.cache.read(key, holder, signal, true)).data?.["value"];
  }

  async failure(holder: string | undefined = "uid-1"): Promise<unknown> {
    return this.read(holder).catch((error: unknown) => error);
  }

  async settle(ms = 0): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await this.clock.advance(turn === 0 ? ms : 0);
  }

  get requests(): { gets: number; lists: number; watches: number } {
    const count = (verb: "get" | "list" | "watch"): number => this.client.callsOf(verb, "secrets").length;
    return { gets: count("get"), lists: count("list"), watches: count("watch") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cache.close();
  }
}

describe("an object", () => {
  test("is fetched once for all who ask at once, and watched by its name from then on", async () => {
    await using rig = new Rig();
    rig.put("1");
    expect(rig.requests).toEqual({ gets: 0, lists: 0, watches: 0 });

    expect(await Promise.all([rig.read("uid-1"), rig.read("uid-2"), rig.read("uid-1")])).toEqual(["1", "1", "1"]);
    await rig.settle();
    expect(await rig.read("uid-3")).toBe("1");

    expect(rig.requests).toEqual({ gets: 1, lists: 0, watches: 1 });
    expect(rig.client.callsOf("watch", "secrets")[0]).toMatchObject({
      body: { namespace: "shop", fieldSelector: "metadata.name=keys" },
      options: { pool: "quiet" },
    });
    expect(rig.told).toEqual([]);
  });

  test("that changes is told to all who hold it, once each, and read without a request", async () => {
    await using rig = new Rig();
    rig.put("1");
    await rig.read("uid-1");
    await rig.read("uid-2");
    await rig.settle();

    rig.put("2");
    await rig.settle();

    expect(rig.told).toEqual(["uid-1", "uid-2"]);
    expect(await rig.read()).toBe("2");
    expect(rig.requests.gets).toBe(1);
  });

  test("is not taken for absent on the word of something that answers in the API server's place", async () => {
    await using rig = new Rig();
    rig.put("1");
    const impostor = rig.client.intercept(() => {
      throw new NotFoundError("default backend - 404");
    });

    const error = await rig.failure();
    expect(isUnavailable(error)).toBe(true);
    expect(isNotFound(error)).toBe(false);
    expect(String(error)).toContain("default backend - 404: this is not the API server's own answer");
    impostor[Symbol.dispose]();

    expect(await rig.read()).toBe("1");
  });

  test("that is not there is said so in a kubelet's words, and told when it comes, changes and goes", async () => {
    await using rig = new Rig();

    const error = await rig.failure();
    await rig.settle();
    rig.put("1");
    await rig.settle();

    expect(isNotFound(error)).toBe(true);
    expect(error).toMatchObject({ message: 'secret "keys" not found' });
    expect(rig.told).toEqual(["uid-1"]);
    expect(await rig.read()).toBe("1");

    rig.client.remove(resources.secrets, "keys", "shop");
    await rig.settle();
    expect(rig.told).toEqual(["uid-1", "uid-1"]);
    expect(isNotFound(await rig.failure())).toBe(true);
    expect(rig.requests).toEqual({ gets: 1, lists: 0, watches: 1 });
  });

  test("that comes between the fetch and the watch is told", async () => {
    await using rig = new Rig();
    using _late = rig.client.intercept((call) => (call.verb === "watch" ? rig.clock.sleep(500) : undefined));

    await rig.failure();
    rig.put("1");
    await rig.settle(500);

    expect(rig.told).toEqual(["uid-1"]);
  });

  test("that was made again under its name is another one", async () => {
    await using rig = new Rig();
    rig.put("1");
    await rig.read();
    await rig.settle();

    rig.client.remove(resources.secrets, "keys", "shop");
    rig.put("2");
    await rig.settle();

    expect(await rig.read()).toBe("2");
  });

  test("that is immutable is fetched once and not watched", async () => {
    await using rig = new Rig();
    rig.put("1", { immutable: true });

    await rig.read("uid-1");
    await rig.settle(600_000);
    await rig.read("uid-2");
    await rig.settle();

    expect(rig.requests).toEqual({ gets: 1, lists: 0, watches: 0 });
  });

  test("that becomes immutable is not watched any more", async () => {
    await using rig = new Rig();
    rig.put("1");
    await rig.read();
    await rig.settle();

    rig.put("2", { immutable: true });
    await rig.settle();

    expect(rig.cache.watches).toBe(0);
    expect(await rig.read()).toBe("2");
    expect(rig.requests.gets).toBe(1);
  });

  test("asked for by nobody in particular is not kept", async () => {
    await using rig = new Rig();
    rig.put("1");

    await rig.cache.read(key, undefined, signal);
    await rig.settle();

    expect([rig.cache.size, rig.cache.watches]).toEqual([0, 0]);
  });
});

describe("what is held", () => {
  test("is watched until the last who holds it lets go", async () => {
    await using rig = new Rig();
    rig.put("1");
    await rig.read("uid-1");
    await rig.read("uid-2");
    await rig.settle();

    rig.cache.release("uid-1");
    await rig.settle();
    expect(rig.cache.watches).toBe(1);

    rig.cache.release("uid-2");
    await rig.settle();
    expect([rig.cache.size, rig.cache.watches, rig.clock.pending]).toEqual([0, 0, 0]);
  });

  test("is let go while it is being fetched, and then not watched", async () => {
    await using rig = new Rig();
    rig.put("1");
    using _slow = rig.client.intercept((call) => (call.verb === "get" ? rig.clock.sleep(100) : undefined));
    const reading = rig.read();
    await rig.settle(50);

    rig.cache.release("uid-1");
    await rig.settle(50);

    expect(await reading).toBe("1");
    expect([rig.cache.size, rig.requests.watches]).toEqual([0, 0]);
  });

  test("is not watched when nobody has read it for five minutes, and again when somebody does", async () => {
    await using rig = new Rig();
    rig.put("1");
    await rig.read();
    await rig.settle(290_000);
    await rig.read();
    await rig.settle(290_000);
    expect(rig.cache.watches).toBe(1);

    await rig.settle(20_000);
    expect(rig.cache.watches).toBe(0);

    rig.put("2");
    expect(await rig.read()).toBe("2");
    await rig.settle();
    expect(rig.cache.watches).toBe(1);
  });

  test("that is kept is watched while a pod holds it, even if nobody reads it, and told when it changes", async () => {
    await using rig = new Rig();
    rig.put("1");
    expect(await rig.keep()).toBe("1");
    await rig.settle(3_600_000);
    expect(rig.cache.watches).toBe(1);

    rig.put("2");
    await rig.settle();
    expect(rig.told).toEqual(["uid-1"]);

    rig.cache.release("uid-1");
    await rig.settle();
    expect([rig.cache.watches, rig.cache.size, rig.clock.pending]).toEqual([0, 0, 0]);
  });

  test("is closed with all watches", async () => {
    const rig = new Rig();
    rig.put("1");
    await rig.read();
    await rig.settle();

    await rig.cache.close();

    expect([rig.cache.watches, rig.clock.pending]).toEqual([0, 0]);
    expect(await rig.read()).toBe("1");
    await rig.settle();
    expect(rig.cache.watches).toBe(0);
  });
});

describe("what cannot be read", () => {
  test("because the Node authorizer does not know the pod yet, is asked for again at once", async () => {
    await using rig = new Rig();
    rig.put("1");
    let refusals = 2;
    using _forbid = rig.client.intercept(() => {
      if (refusals-- > 0) throw new ForbiddenError("no relationship found");
    });

    const reading = rig.read();
    await rig.settle(1_500);

    expect(await reading).toBe("1");
  });

  test("is an error each time, and is told as soon as it can be read", async () => {
    await using rig = new Rig();
    rig.put("1");
    const forbid = rig.client.intercept(() => {
      throw new ForbiddenError("not allowed");
    });
    const first = rig.failure();
    await rig.settle(1_500);
    expect(isForbidden(await first)).toBe(true);
    expect(rig.requests.gets).toBe(5);
    expect(isForbidden(await rig.failure())).toBe(true);
    expect(rig.requests.gets).toBe(6);

    forbid[Symbol.dispose]();
    await rig.settle(60_000);

    expect(rig.told).toEqual(["uid-1"]);
    expect(await rig.read()).toBe("1");
    expect(rig.requests.gets).toBe(6);
  });

  test("while the server is away is read as it was last seen", async () => {
    await using rig = new Rig();
    rig.put("1");
    await rig.read();
    await rig.settle();
    using _away = rig.client.intercept(() => {
      throw new UnavailableError("connection refused");
    });

    await rig.settle(120_000);

    expect(await rig.read()).toBe("1");
  });

  test("ends with the signal's reason when aborted", async () => {
    await using rig = new Rig();
    using _hang = rig.client.intercept((call) => (call.verb === "get" ? new Promise(() => {}) : undefined));
    const abort = new AbortController();
    const reading = rig.cache.read(key, "uid-1", abort.signal);

    abort.abort(new Error("stop"));

    await expect(reading).rejects.toThrow("stop");
  });
});

describe("an object that is held", () => {
  test("is known, of each holder what that has asked for", async () => {
    await using rig = new Rig();
    rig.put("1");
    await rig.read("uid-1");
    await rig.cache.read({ namespace: "shop", name: "none" }, "uid-1", signal).catch(() => {});

    expect(rig.cache.heldBy("uid-1").map(({ metadata }) => metadata?.name)).toEqual(["keys"]);
    expect(rig.cache.heldBy("uid-2")).toEqual([]);
    rig.cache.release("uid-1");
    expect(rig.cache.heldBy("uid-1")).toEqual([]);
    rig.cache.release("uid-1");
  });

  test("is told apart from one of its name in another namespace", async () => {
    await using rig = new Rig();
    rig.put("1");
    rig.client.put(resources.secrets, { metadata: { namespace: "default", name: "keys" }, data: { value: "other" } });
    await rig.read("uid-1");

    const other = await rig.cache.read({ namespace: "default", name: "keys" }, "uid-1", signal);

    expect(other.data?.["value"]).toBe("other");
    expect(rig.cache.size).toBe(2);
  });

  test("is without what only the server manages", async () => {
    await using rig = new Rig();
    rig.client.put(resources.secrets, { metadata: { ...key, managedFields: [{ manager: "kubectl" }] }, data: { value: "1" } });

    expect((await rig.cache.read(key, "uid-1", signal)).metadata?.managedFields).toBeUndefined();
  });

  test("that was read within a second is not asked for again while its watch is opened, and after that it is", async () => {
    await using rig = new Rig();
    rig.put("1");
    using _never = rig.client.intercept((call) => (call.verb === "watch" || call.verb === "list" ? new Promise(() => {}) : undefined));
    await rig.read();
    await rig.settle(999);
    await rig.read();
    expect(rig.requests.gets).toBe(1);
    await rig.settle(1);
    await rig.read();
    expect(rig.requests.gets).toBe(2);
  });

  test("that is changed while its watch is opened is read as the watch has it then", async () => {
    await using rig = new Rig();
    rig.put("1");
    using _late = rig.client.intercept((call) => (call.verb === "watch" ? rig.clock.sleep(500) : undefined));
    await rig.read();
    rig.put("2");
    await rig.settle(500);

    expect(await rig.read()).toBe("2");
    expect([rig.requests.gets, rig.told]).toEqual([1, ["uid-1"]]);
  });

  test("is asked for five times where it is forbidden, at growing intervals, but only the first time", async () => {
    await using rig = new Rig();
    const times: number[] = [];
    using _forbid = rig.client.intercept((call) => {
      if (call.verb === "get") times.push(rig.clock.monotonic());
      throw new ForbiddenError("not allowed");
    });
    const first = rig.failure();
    await rig.settle(1_500);
    await first;

    expect(times).toEqual([0, 100, 300, 700, 1_500]);
  });

  test("that cannot be had for another reason is an error at once", async () => {
    await using rig = new Rig();
    using _away = rig.client.intercept(() => {
      throw new UnavailableError("connection refused");
    });

    expect(await rig.failure()).toMatchObject({ message: "connection refused" });
    expect(rig.requests.gets).toBe(1);
  });

  test("is not asked for by a caller who has given up", async () => {
    await using rig = new Rig();

    await expect(rig.cache.read(key, "uid-1", AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
    expect([rig.requests.gets, rig.cache.size]).toEqual([0, 0]);
  });

  test("leaves no timer when the last who holds it lets go", async () => {
    await using rig = new Rig();
    rig.put("1");
    await rig.read();
    await rig.settle();
    rig.cache.release("uid-1");
    await rig.settle();

    expect(rig.clock.pending).toBe(0);
  });

  test("is watched for five minutes after the last read, to the millisecond", async () => {
    await using rig = new Rig();
    rig.put("1");
    await rig.read();
    await rig.settle(100_000);
    await rig.read();
    await rig.settle(299_999);
    expect(rig.cache.watches).toBe(1);
    await rig.settle(1);

    expect([rig.cache.watches, rig.cache.size]).toEqual([0, 0]);
  });
});
