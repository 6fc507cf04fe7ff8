import { expect } from "vitest";
import { establishDefinition } from "./support/definitions.ts";
import { test } from "./support/parity-test.ts";

const formats = [
  ...[
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
  ],
  ...["creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime", "date-time", "other"],
  ...["k8s-short-name", "k8s-long-name"],
];

const values = [
  ...[
    "",
    " ",
    "a",
    "A",
    "a.b",
    "a-b",
    "-a",
    "a_b",
    "a.",
    "a..b",
    "x".repeat(64),
    `${"a.".repeat(130)}a`,
    "ä.example",
    "1.2",
    "127",
    "localhost",
  ],
  ...[
    "/path",
    "path/x",
    "http://",
    "http://x",
    "http://x/%zz",
    "http://x y",
    "mailto:a@b",
    "urn:x",
    "//x",
    "?a=b",
    "http://[::1]:80/",
    "a:b",
  ],
  ...["a@b", "a@b.c", "A <a@b.c>", "a@", "@b", "a b@c", '"a b"@c', "a@b@c", "a@[1.2.3.4]"],
  ...[
    "1.2.3.4",
    "01.2.3.4",
    "1.2.3",
    "1.2.3.256",
    "::",
    "::1",
    "1::2::3",
    "::ffff:1.2.3.4",
    "fe80::1%eth0",
    "1:2:3:4:5:6:7:8",
    "1:2:3:4:5:6:7",
  ],
  ...["1.2.3.4/24", "1.2.3.4/33", "::/0", "::/129", "1.2.3.4/", "1.2.3.4/024", "/24", "1.2.3/24"],
  ...["00:00:5e:00:53:01", "0000.5e00.5301", "00-00-5E-00-53-01", "00:00:5e:00:53", "02:00:5e:10:00:00:00:01", "00:00-5e:00:53:01"],
  ...["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6BA7B8109DAD31D180B400C04FD430C8", "6ba7b810-9dad-41d1-90b4-00c04fd430c8"],
  ...["6ba7b810-9dad-51d1-a0b4-00c04fd430c8", "6ba7b810-9dad-51d1-70b4-00c04fd430c8", "6ba7b810-9dad-11d1-80b4-00c04fd430cg"],
  ...["0321751043", "0-321-75104-3", "0321751044", "978-0321751041", "9780321751042", "032175104X", "080442957X"],
  ...["4111111111111111", "4111-1111-1111-1111", "4111111111111112", "123-45-6789", "123 45 6789", "123456789", "000-00-0000"],
  ...["#fff", "fff", "#FFFFFF", "#ffff", "rgb(255,255,255)", "rgb(255, 255, 255)", "rgb(256,0,0)", "rgba(0,0,0,1)", "rgb(10%,10%,10%)"],
  ...["YQ==", "YQ", "YWI=", "YWJj", "YW Jj", "YWJj\n", "_-8=", "+/8=", "YR=="],
  ...[
    "2026-01-01",
    "2026-1-1",
    "2026-02-30",
    "2024-02-29",
    "0000-01-01",
    "2026-01-01T00:00:00Z",
    "2026-01-01t00:00:00z",
    "2026-01-01 00:00:00Z",
  ],
  ...[
    "2026-01-01T00:00:00",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:00:60Z",
    "2026-01-01T00:00:00.123456789+02:00",
    "2026-01-01T00:00:00+0200",
  ],
  ...["2026-13-01T00:00:00Z", "2026-01-01T00:00:00.Z", "20260101T000000Z", "2026-01-01T00:00Z", "2026-01-01T00:00:00,5Z"],
  ...[
    "1s",
    "1.5h",
    "-1m",
    "1h30m",
    "0",
    "22 ns",
    "1 day",
    "2 weeks",
    "1d",
    "5 minutes",
    "1",
    "1x",
    ".5s",
    "5.s",
    "µs",
    "1µs",
    "+1s",
    "1 m 2 s",
    "3 DAYS",
  ],
  ...["507f1f77bcf86cd799439011", "507f1f77bcf86cd79943901g"],
];

test("a string of each format is checked as the format's name says", async ({ api, namespace }) => {
  const properties = Object.fromEntries(formats.map((format) => [format, { type: "string", format }]));
  const schema = { type: "object", properties: { spec: { type: "object", properties } } };
  await using definition = await establishDefinition(api, { namespace, schema });
  const { apiVersion, kind, path } = definition;

  const accepted: string[] = [];
  for (const value of values) {
    const spec = Object.fromEntries(formats.map((format) => [format, value]));
    const { body } = await api.post(`${path}?dryRun=All`, { apiVersion, kind, metadata: { name: "a" }, spec });
    const refused = new Set(((body.details?.causes ?? []) as { field: string }[]).map(({ field }) => field.replace(/^spec\./, "")));
    accepted.push(`${JSON.stringify(value)}: ${formats.filter((format) => !refused.has(format)).join(" ")}`);
  }

  expect(accepted).toMatchSnapshot();
});
