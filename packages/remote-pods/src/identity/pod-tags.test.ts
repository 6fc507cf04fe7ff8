import { isInvalidInput } from "@virtual-kubelet/errdefs";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { PodIdentity } from "../backend/observation.ts";
import { createdAtOf, readTags, writeTags } from "./pod-tags.ts";
import { commonTagLimits, type TagLimits } from "./tag-limits.ts";

const owner = { clusterId: "c-1", nodeName: "vk-1" };
const ref = { namespace: "default", name: "web-0", uid: "8f0c1c1e-0000-4000-8000-000000000001" };
const identity: PodIdentity = { ref, owner, attempt: 2 };
const createdAt = "2026-01-01T00:00:00Z";
const narrow: TagLimits = { maxKeyLength: 63, maxValueLength: 63, maxCount: 64, keySeparator: "_", valuePattern: /[a-z0-9_-]*/ };

test("an object's tags name its manager, cluster, node, pod and attempt", () => {
  expect(writeTags(identity, { createdAt })).toEqual({
    "vk.managed-by": "virtual-kubelet",
    "vk.version": "1",
    "vk.cluster": "c-1",
    "vk.node": "vk-1",
    "vk.namespace": "default",
    "vk.name": "web-0",
    "vk.uid": ref.uid,
    "vk.attempt": "2",
    "vk.created-at": createdAt,
  });
});

test.each([".", "-", "_", "/"] as const)("keys are joined by %j, and contain no other separator than it and hyphens", (keySeparator) => {
  const limits = { ...commonTagLimits, keySeparator };
  const tags = writeTags(identity, { createdAt }, limits);

  expect(Object.keys(tags).every((key) => key.replaceAll(keySeparator, "").match(keySeparator === "_" ? /^[a-z]+$/ : /^[a-z-]+$/))).toBe(
    true,
  );
  expect([readTags(tags, owner, limits), createdAtOf(tags, limits)]).toEqual([{ kind: "pod", identity }, createdAt]);
});

test("the identity that was written is read by its node, and by no other node or cluster", () => {
  const text = fc.string({ minLength: 1, maxLength: 300 });
  const name = fc.stringMatching(/^[a-z0-9-]{1,63}$/);
  const anyOwner = fc.record({ clusterId: fc.oneof(fc.constant(""), text), nodeName: text });
  fc.assert(
    fc.property(
      anyOwner,
      anyOwner,
      name,
      name,
      fc.uuid(),
      fc.nat(1_000),
      fc.constantFrom(commonTagLimits, narrow),
      (mine, other, ...rest) => {
        const [namespace, podName, uid, attempt, limits] = rest;
        const written = { ref: { namespace, name: podName, uid }, owner: mine, attempt };
        const tags = writeTags(written, {}, limits);
        const isSame = mine.clusterId === other.clusterId && mine.nodeName === other.nodeName;

        expect(readTags(tags, mine, limits)).toEqual({ kind: "pod", identity: written });
        expect(readTags(tags, other, limits).kind).toBe(isSame ? "pod" : "foreign");
        expect(Object.values(tags).every((value) => value.length <= limits.maxValueLength)).toBe(true);
      },
    ),
  );
});

test("a node name that looks like a hash is not mistaken for the node with that hash", () => {
  const long = { ...owner, nodeName: "n".repeat(100) };
  const hash = writeTags({ ...identity, owner: long }, {}, narrow)["vk_node"] ?? "";
  const posing = { ...owner, nodeName: hash };

  expect(hash).toMatch(/^sha256-[a-z2-7]{52}$/);
  expect(readTags(writeTags({ ...identity, owner: long }, {}, narrow), posing, narrow).kind).toBe("foreign");
  expect(readTags(writeTags({ ...identity, owner: posing }, {}, narrow), long, narrow).kind).toBe("foreign");
  expect(readTags(writeTags({ ...identity, owner: posing }, {}, narrow), posing, narrow).kind).toBe("pod");
});

test.each([
  [
    "metadata.name",
    { ...ref, name: "n".repeat(64) },
    /metadata\.name: "n+" \(64 characters\): the back end's tags take at most 63 characters/,
  ],
  ["metadata.name", { ...ref, name: "web.0" }, /metadata\.name: "web\.0" \(5 characters\): the back end's tags take values like/],
  ["metadata.namespace", { ...ref, namespace: "n".repeat(70) }, /metadata\.namespace: .*at most 63 characters/],
])("a %s that could not be read back is refused by its field", (_field, longRef, message) => {
  const write = (): unknown => writeTags({ ...identity, ref: longRef }, {}, narrow);

  expect(write).toThrow(message);
  expect(write).toThrow(expect.toSatisfy(isInvalidInput));
});

test("limits that no object could be within are refused", () => {
  expect(() => writeTags(identity, {}, { ...commonTagLimits, maxKeyLength: 10 })).toThrow(
    "key vk.managed-by: the back end's tags take keys of at most 10",
  );
  expect(() => writeTags(identity, {}, { ...commonTagLimits, maxCount: 7 })).toThrow("8 tags: the back end takes at most 7 on an object");
});

test("a node without a cluster id writes no tag for it, and objects with one are foreign to it", () => {
  const unnamed = { ...owner, clusterId: "" };
  const tags = writeTags({ ...identity, owner: unnamed });

  expect(Object.keys(tags)).not.toContain("vk.cluster");
  expect(readTags(tags, unnamed)).toEqual({ kind: "pod", identity: { ...identity, owner: unnamed } });
  expect(readTags({ ...tags, "vk.cluster": "" }, unnamed).kind).toBe("pod");
  expect(readTags(tags, owner)).toEqual({ kind: "foreign" });
  expect(readTags(writeTags(identity), unnamed)).toEqual({ kind: "foreign" });
});

const tags = writeTags(identity);

test.each([
  ["no tags", undefined],
  ["empty tags", {}],
  ["null", null],
  ["tags of another program", { ...tags, "vk.managed-by": "somebody" }],
  ["no manager", { ...tags, "vk.managed-by": undefined }],
  ["another node", { ...tags, "vk.node": "vk-2" }],
  ["another cluster", { ...tags, "vk.cluster": "c-2" }],
  ["another node, and unreadable otherwise", { ...tags, "vk.node": "vk-2", "vk.managed-by": 7, "vk.uid": 7 }],
])("an object with %s is foreign", (_what, value) => {
  expect(readTags(value, owner)).toEqual({ kind: "foreign" });
});

test.each([
  ["text", "tags", "tags: expected an object"],
  ["a list", [], "tags: expected an object"],
  ["a manager that is no text", { ...tags, "vk.managed-by": 7 }, "vk.managed-by, vk.node, vk.cluster: expected texts"],
  ["no node", { ...tags, "vk.node": undefined }, "vk.managed-by, vk.node, vk.cluster: expected texts"],
  ["an empty node", { ...tags, "vk.node": "" }, "vk.managed-by, vk.node, vk.cluster: expected texts"],
  ["a cluster that is no text", { ...tags, "vk.cluster": 7 }, "vk.managed-by, vk.node, vk.cluster: expected texts"],
  ["no name", { ...tags, "vk.name": undefined }, "vk.name: expected a name"],
  ["an empty namespace", { ...tags, "vk.namespace": "" }, "vk.namespace: expected a name"],
  ["a UID with spaces", { ...tags, "vk.uid": "a b" }, "vk.uid: expected a UID"],
])("an object with %s is unreadable, and no pod is told", (_what, value, why) => {
  const reading = readTags(value, owner);

  expect(reading).toEqual({ kind: "unreadable", why: expect.stringContaining(why) });
});

test.each([
  ["no version", { ...tags, "vk.version": undefined }, "vk.version: it is missing"],
  ["a later version", { ...tags, "vk.version": "2" }, "vk.version: this release reads version 1"],
  ["no attempt", { ...tags, "vk.attempt": undefined }, "vk.attempt: expected a whole number"],
  ["a negative attempt", { ...tags, "vk.attempt": "-1" }, "vk.attempt: expected a whole number"],
  ["an attempt in another notation", { ...tags, "vk.attempt": "02" }, "vk.attempt: expected a whole number"],
])("an object with %s is unreadable, and its pod is told", (_what, value, why) => {
  expect(readTags(value, owner)).toEqual({ kind: "unreadable", why: expect.stringContaining(why), ref });
});

test("keys are found in another case only where the back end does not keep it", () => {
  const shouted = Object.fromEntries(Object.entries(tags).map(([key, value]) => [key.toUpperCase(), value]));

  expect(readTags(shouted, owner)).toEqual({ kind: "foreign" });
  expect(readTags(shouted, owner, { ...commonTagLimits, ignoresKeyCase: true })).toEqual({ kind: "pod", identity });
  expect(readTags({ ...shouted, ...tags, "VK.NODE": "vk-2" }, owner, { ...commonTagLimits, ignoresKeyCase: true }).kind).toBe("pod");
});

test.each([
  [undefined, undefined],
  ["text", undefined],
  [{ "vk.created-at": "yesterday" }, undefined],
  [{ "vk.created-at": "2026-13-41T00:00:00Z" }, undefined],
  [{ "vk.created-at": 7 }, undefined],
  [{ "vk.created-at": createdAt }, createdAt],
])("the time of creation in %j is %j", (value, expected) => {
  expect(createdAtOf(value)).toBe(expected);
});

test("whatever an object's tags are, reading them never throws", () => {
  const values = fc.anything();
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.dictionary(fc.constantFrom(...Object.keys(tags)), values)), (value) => {
      expect(["pod", "foreign", "unreadable"]).toContain(readTags(value, owner).kind);
    }),
  );
});
