import { codeOf } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { startFakeEngine } from "../test-support/fake-engine-server.ts";
import { inspectContainer, listContainers, listImages } from "./engine-queries.ts";

const never = new AbortController().signal;

test("containers are listed with their filters, stopped ones included", async () => {
  await using fake = await startFakeEngine({ answers: { "GET /containers/json": () => ({ status: 200, json: [{ Id: "c" }] }) } });

  expect(await listContainers(fake.engine, { label: ["a=b"] }, never)).toEqual([{ Id: "c" }]);
  expect(Object.fromEntries(fake.requests.at(-1)?.query ?? [])).toEqual({ all: "true", filters: '{"label":["a=b"]}' });
});

test("an answer that is not a list is an error, not an engine without containers and images", async () => {
  const notList = () => ({ status: 200, json: { message: "hello" } });
  await using fake = await startFakeEngine({ answers: { "GET /containers/json": notList, "GET /images/json": notList } });

  await expect(listContainers(fake.engine, {}, never)).rejects.toThrow("list containers: the engine's answer is not a list");
  await expect(listImages(fake.engine, never)).rejects.toThrow("list images: the engine's answer is not a list");
});

test("a container that does not exist is not found, and an abort ends the request", async () => {
  await using fake = await startFakeEngine({ answers: {} });

  expect(codeOf(await inspectContainer(fake.engine, "c", never).catch((error: unknown) => error))).toBe("VK_NOT_FOUND");
  await expect(inspectContainer(fake.engine, "c", AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
});
