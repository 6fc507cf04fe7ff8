import { expect, test } from "vitest";
import { podPolicySchema } from "./policy-schema.ts";

function problems(policy: object): readonly { readonly path: string; readonly message: string }[] {
  const { error } = podPolicySchema().safeParse(policy);
  return (error?.issues ?? []).map(({ path, message }) => ({ path: path.join("."), message }));
}

test("names what can never be meant so", () => {
  const policy = {
    hostPaths: ["/ok", "relative", "/a/../b"],
    sysctls: ["net.*", "kernel.msgmax", "fs.mqueue.*", "kernel.panic", "vm.*", "net.*.x"],
    capabilities: ["NET_ADMIN", "ALL", "CAP_SYS_TIME", "net admin"],
  };

  expect(problems(policy).map(({ path }) => path)).toEqual([
    "hostPaths.1",
    "hostPaths.2",
    "capabilities.3",
    "sysctls.3",
    "sysctls.4",
    "sysctls.5",
  ]);
  expect(problems({})).toEqual([]);
});

test.for([
  ["sysctls", ["net", "Net.x", "net..x", "net.x.", "-net.x", "net.*x", "kernel.shm_rmid_forced2", ".net.x", "net.x y"], 9],
  ["sysctls", ["net.ipv4.tcp_rmem", "net/ipv4/tcp_rmem", "net.ipv4.conf.eth-0.x", "kernel.shm*", "kernel.msg", "fs.mqueue.msg_max"], 0],
  ["capabilities", ["", "9NET", "net_admin", "NET-ADMIN", "NET_ADMIN ", " NET_ADMIN"], 6],
  ["capabilities", ["A", "CAP_A", "SYS_TIME", "ALL"], 0],
  ["hostPaths", ["", "a/b", "/a/..", ".."], 4],
  ["hostPaths", ["/", "/a..b", "/a/.../b"], 0],
] as const)("of the %s %j it names %d", ([field, entries, count]) => {
  const found = problems({ [field]: entries });

  expect(found.map(({ path }) => path)).toEqual(entries.slice(0, count).map((_, index) => `${field}.${index}`));
  for (const [index, { message }] of found.entries()) expect(message).toContain(JSON.stringify(entries[index]));
});

test("takes values of the provider's own annotations, and of no others", () => {
  const schema = podPolicySchema([{ name: "example.com/driver" }]);

  expect(schema.safeParse({ annotations: { "example.com/driver": ["a"] } }).success).toBe(true);
  expect(schema.safeParse({ annotations: { "example.com/driver": "a" } }).success).toBe(false);
  expect(schema.safeParse({ annotations: { "example.com/drivers": ["a"] } }).success).toBe(false);
  expect(podPolicySchema().safeParse({ annotations: {} }).success).toBe(false);
});

test("takes ids of volumes by namespace, only where the provider has such volumes", () => {
  const schema = podPolicySchema([], [{ fieldPath: "cinder.volumeID", idOf: ({ cinder }) => cinder?.volumeID }]);
  const isTaken = (volumes: object): boolean => schema.safeParse({ volumes }).success;

  expect([isTaken({ shop: ["a", "b"], "*": ["*"] }), isTaken({ constructor: ["a"] })]).toEqual([true, true]);
  expect([isTaken({ Shop: ["a"] }), isTaken({ shop: "a" }), isTaken({ shop: [""] }), isTaken({ "sh*": ["a"] })]).toEqual(
    Array.from({ length: 4 }, () => false),
  );
  expect(podPolicySchema().safeParse({ volumes: {} }).success).toBe(false);
});
