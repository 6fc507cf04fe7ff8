import { expect, test } from "vitest";
import { parseLabelSelector } from "./label-selector.ts";

const labels = { app: "web", tier: "front", replicas: "3" };

test.each([
  ["app=web", true],
  ["app==web", true],
  ["app=db", false],
  ["app!=db", true],
  ["other!=x", true],
  ["app", true],
  ["other", false],
  ["!other", true],
  ["!app", false],
  ["app in (web,db)", true],
  ["app in (db)", false],
  ["app notin (db)", true],
  ["other notin (db)", true],
  ["app=web,tier=front", true],
  ["app=web, tier = back", false],
  ["replicas>2", true],
  ["replicas<3", false],
  ["other=", false],
  ["app in (in,web)", true],
  ["app in ()", false],
  ["app in (,)", false],
  ["app in (db,,web)", true],
])("%s selects: %s", (selector, expected) => {
  expect(parseLabelSelector(selector)?.(labels)).toBe(expected);
});

test("an empty selector selects everything", () => {
  expect(parseLabelSelector("")).toBeUndefined();
});

test.each([
  ["=b", "found '=', expected: !, identifier, or 'end of string'"],
  ["!a=b", "found '=', expected: ',' or 'end of string'"],
  ["a,", "found '', expected: identifier after ','"],
  ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
  ["x in a", "unable to parse requirement: found 'a' expected: '('"],
  ["x in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"],
  ["x in (!", "unable to parse requirement: found '!', expected: ',', ')' or identifier"],
  ["x in (a b", "unable to parse requirement: found 'b', expected: ',' or ')'"],
  ["x in (a,", "unable to parse requirement: found '', expected: ',', or identifier"],
  ["x in (,(", "unable to parse requirement: found '(', expected: ',', or identifier"],
  ["x in (b,-)", 'unable to parse requirement: values[0][x]: Invalid value: "-"'],
  ["x in (-,a,_)", 'unable to parse requirement: [values[0][x]: Invalid value: "-"'],
  ["a>9223372036854775808", "for 'Gt', 'Lt' operators, the value must be an integer"],
  ["a>-", "unable to parse requirement: [values[0]: Invalid value"],
  ["a=-", 'unable to parse requirement: values[0][a]: Invalid value: "-"'],
])("%s is refused with the real server's words", (selector, message) => {
  expect(() => parseLabelSelector(selector)).toThrow(message);
});
