import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { loadStatusPage } from "./status-page.ts";

test("the page may run only its own script and style, and load nothing from elsewhere", async () => {
  const { body, headers = {} } = await loadStatusPage();
  const hashOf = (name: string): string => {
    const contents = [...body.matchAll(new RegExp(`<${name}[^>]*>([^]*?)</${name}>`, "g"))].map((match) => match[1] ?? "");
    expect(contents).toHaveLength(1);
    return `'sha256-${createHash("sha256")
      .update(contents[0] ?? "")
      .digest("base64")}'`;
  };

  const policy = headers["content-security-policy"] ?? "";

  expect(policy.split("; ")).toEqual([
    "default-src 'none'",
    `script-src ${hashOf("script")}`,
    `style-src ${hashOf("style")}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
  expect(body).not.toMatch(/https?:\/\/|innerHTML|insertAdjacentHTML|document\.write| style="| on[a-z]+="/);
});
