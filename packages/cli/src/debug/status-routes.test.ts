import type { NodeInspection, PodQuery } from "@virtual-kubelet/core";
import { parseQuery, Refusal } from "@virtual-kubelet/kubelet-api";
import { expect, test } from "vitest";
import { nodeInspection, podInspection } from "../test-support/inspections.ts";
import { answerStatus } from "./status-routes.ts";
import type { StatusDocument, StatusSource } from "./status-document.ts";

const program = { version: "1.2.3", kubernetes: "v1.36.3", pid: 7, host: "host-1", upMs: 60_000.4, waitsFor: undefined };

function sourceOf(...nodes: readonly NodeInspection[]): StatusSource & { readonly queries: PodQuery[] } {
  const queries: PodQuery[] = [];
  const inspecting = nodes.map((node) => ({ name: node.name, node: { inspect: (query: PodQuery) => (queries.push(query), node) } }));
  return { program: () => program, nodes: inspecting, now: () => Date.UTC(2026, 0, 1), queries };
}

function ask(source: StatusSource, query = ""): StatusDocument {
  return JSON.parse(answerStatus(source, { path: "/status", query: parseQuery(query) }).body) as StatusDocument;
}

test("the state has a version, a time, the program and its nodes, also in words", () => {
  const document = ask(sourceOf(nodeInspection({ name: "vk-1", pods: [podInspection({ name: "web", ageMs: 1_000.6 })] })));

  expect(document).toMatchObject({
    version: 1,
    takenAt: "2026-01-01T00:00:00.000Z",
    program: { version: "1.2.3", pid: 7, upMs: 60_000, shown: "virtual-kubelet 1.2.3, process 7 on host-1, up 60 s" },
    nodes: [{ name: "vk-1", shown: { state: "ready" }, pods: [{ name: "web", ageMs: 1_001, shown: { phase: "Running", doing: "-" } }] }],
  });
});

test("a query chooses nodes and pods", () => {
  const source = sourceOf(nodeInspection({ name: "a" }), nodeInspection({ name: "b" }), nodeInspection({ name: "c" }));

  const document = ask(source, "node=a&node=c&namespace=default&pod=web&problems=true&limit=7&continue=x");

  expect(document.nodes.map(({ name }) => name)).toEqual(["a", "c"]);
  expect(source.queries[0]).toMatchObject({ namespace: "default", name: "web", problemsOnly: true, limit: 7, continue: "x" });
});

test("without a query every node is shown, with its first pods", () => {
  const source = sourceOf(nodeInspection({ name: "a" }));

  expect(ask(source).nodes).toHaveLength(1);
  expect(source.queries[0]).toMatchObject({ limit: 200, problemsOnly: false });
});

test.each(["limit=501", "limit=-1", "limit=x", "limit=", "problems=1"])("%s is refused, with what is expected", (query) => {
  expect(() => ask(sourceOf(), query)).toThrow(/: expected /);
  expect(() => ask(sourceOf(), query)).toThrow(Refusal);
});

test("another path is not found", () => {
  expect(() => answerStatus(sourceOf(), { path: "/metrics", query: parseQuery("") })).toThrow("404");
});
