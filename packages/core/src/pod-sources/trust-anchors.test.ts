import { expect, test } from "vitest";
import { mergeTrustAnchors } from "./trust-anchors.ts";

const pem = (body: string): string => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;

test("certificates of all bundles come once each, in an order that does not depend on the bundles'", () => {
  const merged = mergeTrustAnchors([`${pem("QkJC")}${pem("QUFB")}`, pem("Q0ND"), `# again\r\n${pem("QUFB").replaceAll("\n", "\r\n")}`]);

  expect(merged).toBe(`${pem("Q0ND")}${pem("QUFB")}${pem("QkJC")}`);
  expect(mergeTrustAnchors([pem("Q0ND"), pem("QUFB"), pem("QkJC")])).toBe(merged);
});

test("lines are as long as PEM's, and what is no certificate is left out", () => {
  const body = "A".repeat(100);

  expect(mergeTrustAnchors([`text before\n${pem(body)}text behind`])).toBe(pem(`${"A".repeat(64)}\n${"A".repeat(36)}`));
  expect(mergeTrustAnchors(["-----BEGIN CERTIFICATE-----\nbroken", ""])).toBe("");
});
