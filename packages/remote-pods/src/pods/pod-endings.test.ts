import { codeOf, ConflictError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import type { Ending, EndStep } from "../backend/remote-backend.ts";
import type { FakeObject } from "../test-support/fake-backend.ts";
import { after, createParts, identityOf, refOf, type Parts } from "../test-support/parts.ts";

const never = new AbortController().signal;
const ref = refOf("a");

/** A pod that runs, with the endings that its back end is asked for; `answers` are the results of the next steps. */
async function running(
  options: Parameters<typeof createParts>[0] = {},
): Promise<Parts & { readonly asked: Ending[]; readonly answers: (EndStep | Error)[] }> {
  const parts = createParts(options);
  parts.backend.put("a-0", { kind: "pod", identity: identityOf("a") });
  await after(parts.clock, parts.finder.list(never));
  const [asked, answers]: [Ending[], (EndStep | Error)[]] = [[], []];
  parts.backend.end = async (_target, ending) => {
    asked.push(ending);
    const answer = answers.shift() ?? "wait";
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { ...parts, asked, answers };
}

describe("a deletion", () => {
  test("is asked for, then forced when the grace has passed; each step knows those before it", async () => {
    const { clock, endings, asked, answers } = await running();
    answers.push("asked", "wait", "killed", "deleted");
    await after(clock, endings.delete(ref, { gracePeriodSeconds: 30 }, never), 0);
    await clock.advance(10_000);
    await endings.step("a");
    await clock.advance(25_000);
    await endings.step("a");
    await clock.advance(2_000);
    await endings.step("a");
    await endings.step("a");

    const first = { isAsked: false, killedAgoMs: undefined, isDeleted: false };
    expect(asked).toEqual([
      { ...first, graceLeftMs: 30_000 },
      { ...first, graceLeftMs: 20_000, isAsked: true },
      { ...first, graceLeftMs: -5_000, isAsked: true },
      { ...first, graceLeftMs: -7_000, isAsked: true, killedAgoMs: 2_000 },
      { ...first, graceLeftMs: -7_000, isAsked: true, killedAgoMs: 2_000, isDeleted: true },
    ]);
  });

  test("of a pod that is not known is looked for, and not found", async () => {
    const parts = createParts();

    await expect(after(parts.clock, parts.endings.delete(ref, { gracePeriodSeconds: 0 }, never))).rejects.toBeInstanceOf(NotFoundError);
  });

  test("of an object that cannot be read is possible", async () => {
    const parts = createParts();
    parts.backend.put("a-0", { kind: "unreadable", why: "cut off", ref });
    const ended: string[] = [];
    parts.backend.end = async ({ id }) => (ended.push(id), "deleted");
    await after(parts.clock, parts.endings.delete(ref, { gracePeriodSeconds: 0 }, never));

    expect(ended).toEqual(["a-0"]);
  });

  test("of a pod that is gone already says so", async () => {
    const { clock, endings, answers, table, backend } = await running();
    backend.objects.clear();
    answers.push(new NotFoundError("no such object"));
    await after(clock, endings.delete(ref, { gracePeriodSeconds: 0 }, never));
    expect(table.get("a")?.kind).toBe("gone");

    await expect(endings.delete(ref, { gracePeriodSeconds: 0 }, never)).rejects.toBeInstanceOf(NotFoundError);
  });

  test("a second one shortens the grace, and never lengthens it", async () => {
    const { clock, endings, asked, answers } = await running();
    answers.push("asked");
    await after(clock, endings.delete(ref, { gracePeriodSeconds: 60 }, never), 0);
    await after(clock, endings.delete(ref, { gracePeriodSeconds: 5 }, never), 0);
    await after(clock, endings.delete(ref, { gracePeriodSeconds: 60 }, never), 0);

    expect(asked.map(({ graceLeftMs }) => graceLeftMs)).toEqual([60_000, 5_000, 5_000]);
  });

  test("of an ended pod looks in a whole list for a successor first", async () => {
    const parts = createParts({ lifeOf: () => ({ startsAfterMs: 0 }) });
    const object = parts.backend.put("a-0", { kind: "pod", identity: identityOf("a") });
    object.endsMs = 0;
    await after(parts.clock, parts.finder.look("a-0", never));
    parts.backend.put("a-1", { kind: "pod", identity: identityOf("a", 1) });
    const ended: string[] = [];
    parts.backend.end = async ({ id }) => (ended.push(id), "deleted");
    await after(parts.clock, parts.endings.delete(ref, { gracePeriodSeconds: 0 }, never));

    expect(ended).toEqual(["a-1"]);
  });

  test("a step at a time is taken; one that comes meanwhile follows it", async () => {
    const { clock, endings, backend } = await running();
    const gates: PromiseWithResolvers<EndStep>[] = [];
    backend.end = () => {
      const gate = Promise.withResolvers<EndStep>();
      gates.push(gate);
      return gate.promise;
    };
    const steps = [endings.delete(ref, { gracePeriodSeconds: 5 }, never)];
    await clock.settle();
    steps.push(endings.step("a"), endings.step("a"));
    await clock.settle();
    expect(gates).toHaveLength(1);
    gates[0]?.resolve("asked");
    await clock.settle();
    expect(gates).toHaveLength(2);
    gates[1]?.resolve("wait");

    await Promise.all(steps);
    expect(gates).toHaveLength(2);
  });

  test.for<[string, Error, boolean, string, string | undefined]>([
    ["a conflict is left to the next look", new ConflictError("busy"), true, "deleting", undefined],
    ["an object that is not described either is gone", new NotFoundError("not found"), false, "gone", undefined],
    [
      "what is not found while the object is there is no end of the pod",
      new NotFoundError("no cluster"),
      true,
      "deleting",
      "VK_UNAVAILABLE",
    ],
    ["another failure is thrown, and changes nothing", new UnavailableError("no answer"), true, "deleting", "VK_UNAVAILABLE"],
  ])("%s", async ([, error, isThere, kind, code]) => {
    const { clock, endings, table, answers, backend } = await running();
    answers.push(error);
    if (!isThere) backend.objects.clear();
    const thrown: unknown = await after(clock, endings.delete(ref, { gracePeriodSeconds: 5 }, never)).catch((caught: unknown) => caught);

    expect([codeOf(thrown), table.get("a")?.kind]).toEqual([code, kind]);
  });
});

describe("a surplus object", () => {
  test("is ended without grace, once at a time, and again after a failure", async () => {
    const { clock, endings, asked, answers, warnings } = await running();
    answers.push(new UnavailableError("no answer"), "deleted");
    for (let round = 0; round < 2; round++) {
      endings.removeSurplus("a-9", identityOf("a"), undefined);
      endings.removeSurplus("a-9", identityOf("a"), undefined);
      await clock.settle();
    }

    const ending = { graceLeftMs: 0, isAsked: false, killedAgoMs: undefined, isDeleted: false };
    expect(asked).toEqual([ending, ending]);
    expect(warnings).toEqual(["ended an object that is not the pod's latest one"]);
  });
});

describe("what belonged to a pod that is gone", () => {
  const object = { id: "a-0" } as FakeObject;

  test("is freed with what was last known of its object, until that succeeds", async () => {
    const { clock, backend, endings } = createParts();
    const released: unknown[] = [];
    backend.release = async (...args) => {
      released.push(args.slice(0, 2));
      if (released.length < 3) throw new UnavailableError("no answer");
    };
    endings.release(ref, object);
    await clock.advance(300_000);

    expect(released).toEqual([
      [ref, object],
      [ref, object],
      [ref, object],
    ]);
    expect(clock.pending).toBe(0);
  });

  test("is not freed any more after the provider is disposed of", async () => {
    const { clock, backend, endings } = createParts();
    let count = 0;
    backend.release = async () => {
      count++;
      throw new UnavailableError("no answer");
    };
    endings.release(ref, object);
    await clock.settle();
    await endings[Symbol.asyncDispose]();
    endings.release(ref, object);
    endings.removeSurplus("a-9", identityOf("a"), undefined);
    await clock.advance(300_000);

    expect([count, backend.calls, clock.pending]).toEqual([1, [], 0]);
  });
});
