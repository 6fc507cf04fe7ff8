import { expect, test } from "vitest";
import { isOfFormat } from "./formats.ts";

test.each([
  ["ipv4", "01.2.3.4", "1.2.3"],
  ["ipv6", "::1", "fe80::1%eth0"],
  ["cidr", "1.2.3.4/024", "1.2.3.4/33"],
  ["mac", "0000.5e00.5301", "00:00-5e:00:53:01"],
  ["hostname", "a-b", "a..b"],
  ["uri", "/path", "path"],
  ["uri", "urn:%x", "http://x/%zz"],
  ["email", "A <a@b.c>", "a b@c"],
  ["uuid4", "6ba7b810-9dad-41d1-90b4-00c04fd430c8", "6ba7b810-9dad-51d1-90b4-00c04fd430c8"],
  ["isbn", "978-0321751041", "978-0321751042"],
  ["isbn10", "080442957X", "080442957"],
  ["creditcard", "4111-1111-1111-1111", "4111-1111-1111-1112"],
  ["ssn", "123-45-6789", "123456789"],
  ["hexcolor", "#fff", "#ffff"],
  ["rgbcolor", "rgb(255, 255, 255)", "rgb(256,0,0)"],
  ["byte", "YQ==", "YQ"],
  ["date", "2024-02-29", "2026-02-30"],
  ["date-time", "2026-01-01t00:00:00z", "2026-01-01T24:00:00Z"],
  ["duration", "2 weeks", "1x"],
  ["k8s-short-name", "a-b", "a.b"],
  ["k8s-long-name", "a.b", "A"],
  ["bsonobjectid", "507f1f77bcf86cd799439011", "507f1f77bcf86cd79943901g"],
])("the format %s accepts %j and refuses %j", (format, good, bad) => {
  expect([isOfFormat(format, good), isOfFormat(format, bad)]).toEqual([true, false]);
});

test("a format that is not known accepts everything", () => {
  expect([isOfFormat("other", "x"), isOfFormat("toString", "x")]).toEqual([true, true]);
});

test.each(["email", "hostname", "duration", "uri"])(
  "a long text that is no %s is refused without retrying every way to read it",
  (format) => {
    const texts = ["a", "a.", " ", "a-", '"', "\\"].map((part) => `${part.repeat(5000)}<`);

    expect(texts.map((text) => isOfFormat(format, text))).toEqual(texts.map(() => false));
  },
);

test("a long number is not a duration, and is found not to be one at once", () => {
  expect(isOfFormat("duration", "1".repeat(200_000))).toBe(false);
});
