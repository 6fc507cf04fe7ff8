import fc from "fast-check";
import { expect, test } from "vitest";
import type { PodIdentity } from "../backend/observation.ts";
import { createToken, objectName } from "./object-name.ts";

const identity: PodIdentity = {
  ref: { namespace: "default", name: "web-0", uid: "8f0c1c1e-0000-4000-8000-000000000001" },
  owner: { clusterId: "c-1", nodeName: "vk-1" },
  attempt: 0,
};
const anIdentity: fc.Arbitrary<PodIdentity> = fc.record({
  ref: fc.record({
    namespace: fc.stringMatching(/^[a-z0-9-]{1,63}$/),
    name: fc.stringMatching(/^[a-z0-9.-]{1,253}$/),
    uid: fc.oneof(fc.uuid(), fc.string({ minLength: 1, maxLength: 100 })),
  }),
  owner: fc.record({ clusterId: fc.string(), nodeName: fc.string() }),
  attempt: fc.nat(),
});

test("a name shows namespace and pod, and is the same in each release", () => {
  expect(objectName(identity, { maxLength: 63 })).toBe("vk-default-web-0-s6tucyaxrnlsfjhpfa3s5nbqdy");
  expect(objectName(identity, { maxLength: 35, prefix: "pod-" })).toBe("pod-defa-s6tucyaxrnlsfjhpfa3s5nbqdy");
  expect(objectName(identity, { maxLength: 29 })).toBe("vk-s6tucyaxrnlsfjhpfa3s5nbqdy");
});

test.each([
  ["a-z0-9-", /^(?!.*--)[a-z0-9][a-z0-9-]*[a-z0-9]$/],
  ["a-z0-9_", /^(?!.*__)[a-z0-9][a-z0-9_]*[a-z0-9]$/],
  ["a-z0-9", /^[a-z0-9]+$/],
] as const)("every name has the characters %s, and keeps to the length", (alphabet, pattern) => {
  fc.assert(
    fc.property(anIdentity, fc.integer({ min: 29, max: 128 }), (any, maxLength) => {
      const name = objectName(any, { maxLength, alphabet });

      expect(name).toMatch(pattern);
      expect(name.length).toBeLessThanOrEqual(maxLength);
      expect(objectName(structuredClone(any), { maxLength, alphabet })).toBe(name);
    }),
  );
});

test("namespaces and names that read alike when joined have different names, and so has each attempt and cluster", () => {
  const { ref, owner } = identity;
  const identities = [
    identity,
    { ...identity, ref: { ...ref, namespace: "a-b", name: "c" } },
    { ...identity, ref: { ...ref, namespace: "a", name: "b-c" } },
    { ...identity, ref: { ...ref, uid: "other" } },
    { ...identity, owner: { ...owner, clusterId: "c-2" } },
    { ...identity, attempt: 1 },
  ];

  for (const maxLength of [29, 63]) expect(new Set(identities.map((each) => objectName(each, { maxLength }))).size).toBe(identities.length);
});

test("rules without room for the hash are refused", () => {
  expect(() => objectName(identity, { maxLength: 28 })).toThrow(
    'name the object of pod default/web-0: a name with the prefix "vk-" has at least 29 characters, and 28 are allowed',
  );
});

test("a token is the UID with the attempt, or a hash where that would be too long or unprintable", () => {
  const tokenOf = (uid: string, attempt = 0): string => createToken({ ...identity, ref: { ...identity.ref, uid }, attempt });

  expect(tokenOf("8f0c1c1e-0000-4000-8000-000000000001", 3)).toBe("8f0c1c1e-0000-4000-8000-000000000001-3");
  expect(tokenOf("u".repeat(63))).toMatch(/^[a-z2-7]{52}$/);
  expect(tokenOf("ü")).toMatch(/^[a-z2-7]{52}$/);
  expect(tokenOf("ü", 1)).not.toBe(tokenOf("ü"));
});

test("tokens differ where UID or attempt do, and have at most 64 printable characters", () => {
  fc.assert(
    fc.property(anIdentity, anIdentity, (a, b) => {
      expect(createToken(a)).toMatch(/^[!-~]{1,64}$/);
      expect(createToken(a) === createToken(b)).toBe(a.ref.uid === b.ref.uid && a.attempt === b.attempt);
    }),
  );
});
