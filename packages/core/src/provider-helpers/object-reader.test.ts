import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { z } from "zod";
import { ObjectReader } from "./object-reader.ts";

const schema = z.object({ id: z.string(), size: z.number() });

function open(): { readonly reader: ObjectReader<"job">; readonly warned: object[]; readonly counted: object[] } {
  const warned: object[] = [];
  const counted: object[] = [];
  const reader = new ObjectReader<"job">({
    logger: { ...silentLogger, warn: (fields, message) => void warned.push({ ...fields, message }) },
    metrics: { ...noMetrics, count: (name, labels) => void counted.push({ name, ...labels }) },
    backEnd: "Nomad",
    idOf: (value) => z.object({ id: z.string() }).safeParse(value).data?.id,
  });
  return { reader, warned, counted };
}

test("an object that is skipped is named and counted once, and again when something else is wrong with it", () => {
  const { reader, warned, counted } = open();
  reader.skip("job", "vk-1", "it is a copy");
  reader.skip("job", "vk-1", "it is a copy");
  reader.skip("job", "vk-1", "its meta vk.shape is no JSON");

  const message = "an object of Nomad is skipped";
  expect(warned).toEqual([
    { job: "vk-1", why: "it is a copy", message },
    { job: "vk-1", why: "its meta vk.shape is no JSON", message },
  ]);
  expect(counted).toEqual(Array(2).fill({ name: "vk_nomad_skipped_objects_total", kind: "job" }));
});

test("an object that was good meanwhile is named again", () => {
  const { reader, warned } = open();
  const sizes: unknown[] = ["5", "5", 5, "5"];
  expect(sizes.map((size) => reader.read("job", schema, { id: "a", size }))).toEqual([
    undefined,
    undefined,
    { id: "a", size: 5 },
    undefined,
  ]);
  expect(warned).toHaveLength(2);
  reader.skip("job", "a", "it is a copy");
  reader.read("job", schema, { id: "a", size: 5 });
  reader.skip("job", "a", "it is a copy");
  expect(warned).toHaveLength(3);
  reader.accept("job", "a");
  reader.skip("job", "a", "it is a copy");

  expect(warned).toHaveLength(4);
});

test("what has no ID is named all the same, and its values are not", () => {
  const { reader, warned } = open();
  reader.read("job", schema, { size: "password" });

  expect(warned).toMatchObject([{ job: "without an ID", why: "id: Invalid input: expected string, received undefined" }]);
  expect(JSON.stringify(warned)).not.toContain("password");
});

test("of very many objects the first are named, once in however many lists, and one line says that there are others", () => {
  const { reader, warned, counted } = open();
  for (let list = 0; list < 3; list++) for (let number = 0; number < 1002; number++) reader.skip("job", `vk-${number}`, "it is a copy");

  expect(counted).toHaveLength(1000);
  expect(warned).toHaveLength(1001);
  expect(warned.at(-1)).toEqual({ named: 1000, message: "more objects of Nomad are skipped; the others are not named" });

  reader.accept("job", "vk-0");
  reader.skip("job", "vk-1001", "it is a copy");
  expect(warned.at(-1)).toMatchObject({ job: "vk-1001" });
});

test("of one object at most eight reasons are named until it is good again", () => {
  const { reader, warned } = open();
  for (let number = 0; number < 100; number++) reader.skip("job", "vk-1", `its version is ${number}`);
  expect(warned).toHaveLength(8);

  reader.accept("job", "vk-1");
  reader.skip("job", "vk-1", "its version is 99");
  expect(warned).toHaveLength(9);
});

test("a long ID and a long reason are cut", () => {
  const { reader, warned } = open();
  reader.skip("job", "i".repeat(1_000_000), "w".repeat(1_000_000));

  expect(warned).toMatchObject([{ job: `${"i".repeat(200)}…`, why: `${"w".repeat(500)}…` }]);
});
