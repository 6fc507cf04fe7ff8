import { expect, test } from "vitest";
import { containerWith, planOf, podWith, taskOf } from "../test-support/pods.ts";

const hidden = { name: "S", valueFrom: { secretKeyRef: { name: "s", key: "s" } } };

test.for([
  ["cost=$$$(S)", 'cost=${"$"}${env["S"]}'],
  ["$(D)$(S)", '${"$"}${env["S"]}'],
  ["$$$$$(S)$$", '${"$$"}${env["S"]}$'],
  ["$(S)$$$(S)", '${env["S"]}${"$"}${env["S"]}'],
  ["a$ $(S)", 'a$ ${env["S"]}'],
  ["$$$$", "$$"],
])("the word %s is %s to Nomad", ([word = "", wanted]) => {
  const env = [hidden, { name: "D", value: "$" }];
  const pod = podWith({ containers: [containerWith({ args: [word], env })] });

  expect(taskOf(planOf(pod, {}, { env: { S: "secret" } })).Config["args"]).toEqual([wanted]);
});

const injected = '\u0000A"]} ${node.unique.id} ${env["B\u0000';

test.for([
  ["command[1]", { command: ["sh", injected] }, "the word"],
  ["args[0]", { args: [injected] }, "the word"],
  ["args[1]", { args: ["a", "$(V)"], env: [{ name: "V", value: injected }] }, "the value of $(V)"],
] as const)("a NUL byte in %s is refused by its name", ([field, fields, what]) => {
  const fieldPath = `spec.containers[1].${field}`;
  const other = containerWith({ name: "other", ...fields } as object);
  let error: unknown;
  try {
    planOf(podWith({ containers: [containerWith(), other] }));
  } catch (caught) {
    error = caught;
  }

  expect(error).toMatchObject({
    code: "VK_UNSUPPORTED",
    fieldPath,
    message: expect.stringContaining(`${fieldPath}: a NUL byte in ${what};`) as unknown,
  });
});

test("the same holds for a command of the client's own", () => {
  const pod = podWith({ containers: [containerWith({ command: ["/bin/echo"], args: [injected] })] });

  expect(() => planOf(pod, { driver: "raw_exec" })).toThrow(/^spec\.containers\[0\]\.args\[0\]: a NUL byte/);
});

test("a NUL byte in a secret's value is not put in here, and refuses nothing", () => {
  const pod = podWith({ containers: [containerWith({ args: ["$(S)"], env: [hidden] })] });

  expect(taskOf(planOf(pod, {}, { env: { S: "a\u0000b" } })).Config["args"]).toEqual(['${env["S"]}']);
});

test("a variable named as what every object inherits is in the environment", () => {
  const env = ["__proto__", "constructor"].map((name) => ({ name, value: "x" }));
  const { Env } = taskOf(planOf(podWith({ containers: [containerWith({ env })] })));

  expect(JSON.stringify(Env)).toBe('{"__proto__":"x","constructor":"x"}');
});
