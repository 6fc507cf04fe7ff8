import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { SmallAnswer } from "../http/small-server.ts";

/**
 * The page that shows the program's state, with the headers that keep everything else out: it runs only the script and the style that it came
 * with, reads only from its own server, and cannot be framed.
 */
export async function loadStatusPage(): Promise<SmallAnswer> {
  const html = await readFile(new URL("status-page.html", import.meta.url), "utf8");
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(html, "script")}`,
    `style-src ${hashOf(html, "style")}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    status: 200,
    type: "text/html; charset=utf-8",
    body: html,
    headers: {
      "content-security-policy": policy.join("; "),
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
    },
  };
}

/** Source expression of the page's one element of that name. */
function hashOf(html: string, element: "script" | "style"): string {
  const content = new RegExp(`<${element}>([^]*?)</${element}>`).exec(html)?.[1] ?? "";
  return `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
}
