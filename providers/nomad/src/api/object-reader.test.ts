import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { ObjectReader } from "./object-reader.ts";

test("an object that is skipped is named and counted once, and again when something else is wrong with it", () => {
  const warned: object[] = [];
  const counted: object[] = [];
  const reader = new ObjectReader({
    logger: { ...silentLogger, warn: (fields) => void warned.push(fields) },
    metrics: { ...noMetrics, count: (name, labels) => void counted.push({ name, ...labels }) },
  });
  reader.skip("job", "vk-1", "it is a copy");
  reader.skip("job", "vk-1", "it is a copy");
  reader.skip("job", "vk-1", "its meta vk.shape is no JSON");

  expect(warned).toEqual([
    { job: "vk-1", why: "it is a copy" },
    { job: "vk-1", why: "its meta vk.shape is no JSON" },
  ]);
  expect(counted).toEqual(Array(2).fill({ name: "vk_nomad_skipped_objects_total", kind: "job" }));
});

test("of very many objects the oldest are forgotten, so that memory stays bounded", () => {
  let warnings = 0;
  const reader = new ObjectReader({ logger: { ...silentLogger, warn: () => void warnings++ }, metrics: noMetrics });
  for (let number = 0; number <= 1000; number++) reader.skip("job", `vk-${number}`, "it is a copy");
  reader.skip("job", "vk-1000", "it is a copy");
  reader.skip("job", "vk-0", "it is a copy");

  expect(warnings).toBe(1002);
});
