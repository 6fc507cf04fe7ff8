import { expect, test } from "vitest";
import { listAll } from "./list-all.ts";
import { resources } from "./resources.ts";
import { createKubeClient } from "./rest-client.ts";
import { ScriptedTransport } from "../transport/scripted-transport.ts";

const { pods } = resources;
const options = { signal: new AbortController().signal };

/** A server whose pages have one pod each; the page `next` comes after which. */
function serving(next: Readonly<Record<string, string>>): ScriptedTransport {
  return new ScriptedTransport((request) => {
    const token = new URL(request.path, "http://server").searchParams.get("continue") ?? "";
    const metadata = { resourceVersion: "7", continue: next[token] ?? "" };
    return { body: { kind: "PodList", apiVersion: "v1", metadata, items: [{ metadata: { uid: `after ${token}` } }] } };
  });
}

test("all pages of a list are one list", async () => {
  const transport = serving({ "": "a", a: "b" });

  const found = await listAll(createKubeClient(transport), pods, { fieldSelector: "spec.nodeName=vk" }, options);

  expect(found.map(({ metadata }) => metadata?.uid)).toEqual(["after ", "after a", "after b"]);
  expect(transport.requests.map(({ path }) => path)).toEqual([
    "/api/v1/pods?fieldSelector=spec.nodeName%3Dvk&limit=500",
    "/api/v1/pods?fieldSelector=spec.nodeName%3Dvk&limit=500&continue=a",
    "/api/v1/pods?fieldSelector=spec.nodeName%3Dvk&limit=500&continue=b",
  ]);
});

test("a list whose pages lead in a circle is the server's error", async () => {
  const transport = serving({ "": "a", a: "b", b: "c", c: "a" });

  await expect(listAll(createKubeClient(transport), pods, {}, options)).rejects.toThrow("list pods: the pages lead in a circle");
  expect(transport.requests).toHaveLength(4);
});
