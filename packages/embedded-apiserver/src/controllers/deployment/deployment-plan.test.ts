import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DeploymentSpec } from "../../kinds/workload/workload-fields.ts";
import { fenceposts, initialSize, planRollingUpdate, planScale, type SetSize } from "./deployment-plan.ts";

function specOf(replicas: number, maxSurge: number | string, maxUnavailable: number | string): DeploymentSpec {
  return {
    replicas,
    selector: null,
    template: { metadata: {}, spec: { containers: [] } },
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } },
  };
}

function set(name: string, wanted: number, more: Partial<SetSize> = {}): SetSize {
  return { name, wanted, actual: wanted, available: wanted, createdMs: 0, desiredThen: undefined, mostThen: undefined, ...more };
}

describe("fenceposts", () => {
  // Examples from the comment of ResolveFenceposts.
  test.each([
    [2, "0%", "1%", { surge: 0, unavailable: 1 }],
    [1, "0%", "1%", { surge: 0, unavailable: 1 }],
    [2, "1%", "25%", { surge: 1, unavailable: 0 }],
    [1, "1%", "25%", { surge: 1, unavailable: 0 }],
    [4, "25%", "25%", { surge: 1, unavailable: 1 }],
    [10, 3, 2, { surge: 3, unavailable: 2 }],
    [1, 0, 5, { surge: 0, unavailable: 1 }],
  ])("of %i replicas with surge %s and unavailable %s", (replicas, surge, unavailable, expected) => {
    expect(fenceposts(specOf(replicas, surge, unavailable))).toEqual(expected);
  });
});

describe("a rolling update", () => {
  test("removes unhealthy old pods first", () => {
    const sizes = planRollingUpdate(specOf(10, 3, 2), set("new", 5, { available: 0 }), [set("old", 8, { available: 4 })]);

    // There are 13 pods, of which 8 must be available and 5 new ones are not, so none can be removed.
    expect(sizes).toEqual(new Map());
    expect(planRollingUpdate(specOf(10, 3, 2), set("new", 5, { available: 4 }), [set("old", 8, { available: 4 })])).toEqual(
      new Map([["old", 4]]),
    );
  });

  test("always ends, within its limits", () => {
    const arbitrary = fc.record({
      replicas: fc.integer({ min: 0, max: 20 }),
      surge: fc.integer({ min: 0, max: 5 }),
      unavailable: fc.integer({ min: 0, max: 5 }),
      old: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(arbitrary, ({ replicas, surge, unavailable, old }) => {
        const spec = specOf(replicas, surge, unavailable);
        const limits = fenceposts(spec);
        let before = Math.min(old, replicas);
        let after = initialSize(spec, [set("old", before)]);
        for (let step = 0; step < 100 && (before > 0 || after < replicas); step++) {
          const sizes = planRollingUpdate(spec, set("new", after), [set("old", before)]);
          before = sizes.get("old") ?? before;
          after = sizes.get("new") ?? after;
          expect(before + after).toBeLessThanOrEqual(replicas + limits.surge);
          // Every pod counts as available at once, so only removing old pods too early can violate this.
          expect(before + after).toBeGreaterThanOrEqual(Math.min(old, replicas) - limits.unavailable);
        }
        expect([before, after]).toEqual([0, replicas]);
      }),
    );
  });
});

describe("scaling in the middle of a rollout", () => {
  test("spreads the change in proportion", () => {
    const sets = { current: set("new", 5, { mostThen: 13, desiredThen: 10 }), old: [set("old", 8, { mostThen: 13, desiredThen: 10 })] };

    expect(planScale(specOf(20, 3, 2), sets, 13)).toEqual(
      new Map([
        ["old", 14],
        ["new", 9],
      ]),
    );
  });

  test("scales every ReplicaSet to zero", () => {
    const sets = { current: set("new", 5, { mostThen: 13 }), old: [set("old", 8, { mostThen: 13 })] };

    expect(planScale(specOf(0, 3, 2), sets, 13)).toEqual(
      new Map([
        ["old", 0],
        ["new", 0],
      ]),
    );
  });
});
