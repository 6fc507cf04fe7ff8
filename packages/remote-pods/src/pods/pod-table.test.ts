import { describe, expect, test } from "vitest";
import { after, createParts, identityOf, refOf, type Parts } from "../test-support/parts.ts";

const never = new AbortController().signal;

async function running(): Promise<Parts> {
  const parts = createParts();
  parts.backend.put("a-0", { kind: "pod", identity: identityOf("a") });
  await after(parts.clock, parts.finder.look("a-0", never));
  return parts;
}

describe("reports", () => {
  test("tell a status once, however often it is seen", async () => {
    const parts = await running();
    await after(parts.clock, parts.finder.look("a-0", never));
    parts.table.report("a");

    expect(parts.reports).toMatchObject([{ ref: refOf("a"), status: { phase: "Running" } }]);
  });

  test("tell once that a pod is gone, and a pod that is not known not at all", async () => {
    const parts = await running();
    parts.reports.length = 0;
    parts.table.dispatch("a", { kind: "delete", deadlineMs: 0 });
    parts.reports.length = 0;
    parts.table.dispatch("a", { kind: "absent", id: "a-0" });
    parts.table.report("a");
    parts.table.report("b");

    expect(parts.reports).toEqual([{ ref: refOf("a"), gone: true }]);
  });

  test("belong to whoever reads them: a change does not reach the table", async () => {
    const parts = await running();
    const [report] = parts.reports;
    if (report && "status" in report) Object.assign(report.status, { phase: "Failed" });

    expect(parts.table.pod("a")?.status.phase).toBe("Running");
  });
});

test("an object is found by its id as long as it is its pod's", async () => {
  const parts = await running();
  expect(parts.table.byId("a-0")?.kind).toBe("present");
  parts.table.dispatch("a", { kind: "delete", deadlineMs: 0 });
  parts.table.dispatch("a", { kind: "absent", id: "a-0" });

  expect(parts.table.byId("a-0")).toBeUndefined();
  expect(parts.table.byId("b-0")).toBeUndefined();
});
