import { VirtualClock } from "@virtual-kubelet/clock";
import type { RegisterTaskDefinitionCommandInput } from "@aws-sdk/client-ecs";
import { beforeEach, describe, expect, test } from "vitest";
import type { DefinitionRecord } from "../aws/ecs-api.ts";
import { familyOf } from "../task/definition-family.ts";
import { owner } from "../test-support/pods.ts";
import { DefinitionRegistry } from "./definition-registry.ts";

const tags = { "vk.managed-by": "virtual-kubelet", "vk.cluster": owner.clusterId, "vk.node": owner.nodeName };
const { signal } = new AbortController();
const hourMs = 3_600_000;

/** Task definitions of an account. */
class FakeDefinitions {
  readonly revisions: { family: string; arn: string; status: string; tags: Readonly<Record<string, string>> }[] = [];
  readonly calls: string[] = [];
  failure: Error | undefined;

  add(family: string, status = "ACTIVE", own: Readonly<Record<string, string>> = tags): string {
    const arn = `arn:aws:ecs:r:1:task-definition/${family}:${this.revisions.filter((each) => each.family === family).length + 1}`;
    this.revisions.push({ family, arn, status, tags: own });
    return arn;
  }

  async registerTaskDefinition({ family = "" }: RegisterTaskDefinitionCommandInput): Promise<string> {
    this.calls.push("register");
    await Promise.resolve();
    if (this.failure) throw this.failure;
    return this.add(family);
  }

  async describeTaskDefinition(name: string): Promise<DefinitionRecord | undefined> {
    this.calls.push("describe");
    return this.revisions.findLast(({ family, arn, status }) => arn === name || (family === name && status === "ACTIVE"));
  }

  async listFamilies(prefix: string, status: string): Promise<readonly string[]> {
    const families = [...new Set(this.revisions.map(({ family }) => family))].filter((family) => family.startsWith(prefix));
    const isActive = (family: string): boolean => this.revisions.some((each) => each.family === family && each.status === "ACTIVE");
    return families.filter((family) => isActive(family) === (status === "ACTIVE"));
  }

  async listRevisions(family: string, status: string): Promise<readonly string[]> {
    return this.revisions.filter((each) => each.family === family && each.status === status).map(({ arn }) => arn);
  }

  async deregisterTaskDefinition(arn: string): Promise<void> {
    this.calls.push("deregister");
    const found = this.revisions.find((each) => each.arn === arn);
    if (found) found.status = "INACTIVE";
  }

  async deleteTaskDefinitions(arns: readonly string[]): Promise<void> {
    this.calls.push(`delete ${arns.length}`);
    for (const arn of arns)
      this.revisions.splice(
        this.revisions.findIndex((each) => each.arn === arn),
        1,
      );
  }
}

let api: FakeDefinitions;
let clock: VirtualClock;
let registry: DefinitionRegistry;

beforeEach(() => {
  api = new FakeDefinitions();
  clock = new VirtualClock();
  registry = new DefinitionRegistry({ api, clock, owner, keepMs: 24 * hourMs });
});

function definition(image = "nginx"): RegisterTaskDefinitionCommandInput {
  const body = { containerDefinitions: [{ name: "main", image }] };
  return { family: familyOf(body, owner), ...body };
}

describe("a definition", () => {
  test("is registered once for all pods that start at the same time, and known afterwards", async () => {
    const arns = await Promise.all(Array.from({ length: 50 }, () => registry.ensure(definition(), signal)));
    await registry.ensure(definition(), signal);

    expect(new Set(arns).size).toBe(1);
    expect(api.calls).toEqual(["describe", "register"]);
  });

  test("of an earlier run of the program is used", async () => {
    const arn = api.add(definition().family ?? "");

    expect(await registry.ensure(definition(), signal)).toBe(arn);
    expect(api.calls).toEqual(["describe"]);
  });

  test("of somebody else with the same name is not used", async () => {
    const arn = api.add(definition().family ?? "", "ACTIVE", {});

    expect(await registry.ensure(definition(), signal)).not.toBe(arn);
  });

  test("that could not be registered is tried again", async () => {
    api.failure = new Error("away");
    await expect(registry.ensure(definition(), signal)).rejects.toThrow("away");
    api.failure = undefined;

    expect(await registry.ensure(definition(), signal)).toContain("task-definition/");
  });

  test("that was removed by somebody is registered again", async () => {
    await registry.ensure(definition(), signal);
    api.revisions[0]!.status = "INACTIVE";
    registry.forget(definition().family ?? "");

    expect(await registry.ensure(definition(), signal)).toMatch(/:2$/);
  });
});

describe("the original's fault: task definitions leaked", () => {
  test("one that no pod has used for a day is deregistered and deleted", async () => {
    await registry.ensure(definition("old"), signal);
    await clock.advance(12 * hourMs);
    await registry.ensure(definition("new"), signal);
    await clock.advance(12 * hourMs);
    await registry.sweep(signal);

    expect(api.revisions.map(({ family }) => family)).toEqual([definition("new").family]);
    expect(api.calls.slice(-2)).toEqual(["describe", "delete 1"]);
  });

  test("one with a task stays, however old it is", async () => {
    const arn = await registry.ensure(definition(), signal);
    await clock.advance(100 * hourMs);
    registry.noteTask(arn);
    await registry.sweep(signal);

    expect(api.revisions).toHaveLength(1);
  });

  test("one of an earlier run of the program has a day from the first sweep on", async () => {
    api.add(definition().family ?? "");
    await registry.sweep(signal);
    await clock.advance(23 * hourMs);
    await registry.sweep(signal);
    expect(api.revisions).toHaveLength(1);
    await clock.advance(hourMs);
    await registry.sweep(signal);

    expect(api.revisions).toEqual([]);
  });

  test("one that a crash left deregistered is deleted", async () => {
    api.add(definition().family ?? "", "INACTIVE");
    await registry.sweep(signal);

    expect(api.revisions).toEqual([]);
  });

  test("those of others stay: without our tags, and of other families", async () => {
    api.add(definition().family ?? "", "ACTIVE", { ...tags, "vk.node": "other" });
    api.add(`${definition().family}x`, "INACTIVE", {});
    api.add("web");
    await registry.sweep(signal);
    await clock.advance(100 * hourMs);
    await registry.sweep(signal);

    expect(api.revisions.map(({ status }) => status)).toEqual(["ACTIVE", "INACTIVE", "ACTIVE"]);
  });

  test("ten are deleted in a request, and twenty families in a sweep", async () => {
    for (let count = 0; count < 25; count++) await registry.ensure(definition(`image-${count}`), signal);
    await clock.advance(24 * hourMs);
    await registry.sweep(signal);

    expect(api.revisions).toHaveLength(5);
    expect(api.calls.filter((call) => call.startsWith("delete"))).toEqual(["delete 10", "delete 10"]);
  });

  test("nothing is removed with keepTaskDefinitions: 0", async () => {
    const keeping = new DefinitionRegistry({ api, clock, owner, keepMs: 0 });
    await keeping.ensure(definition(), signal);
    await clock.advance(1_000 * hourMs);
    await keeping.sweep(signal);

    expect(api.revisions).toHaveLength(1);
  });
});
