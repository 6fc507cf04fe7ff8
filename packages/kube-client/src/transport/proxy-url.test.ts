import { isInvalidInput, messageOf } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { parseProxyUrl, shownProxy } from "./proxy-url.ts";

test.each(["http://proxy:3128", "https://proxy", "socks5://proxy:1080", "socks5h://[fd00::1]:1080", "http://user:password@10.0.0.1:80"])(
  "%s is a proxy",
  (text) => {
    expect(parseProxyUrl(text, "proxy-url").href).toBe(new URL(text).href);
  },
);

test.each([
  ["ftp://proxy", "ftp://proxy"],
  ["socks4://user:secret@proxy", "socks4://…@proxy"],
  ["proxy:3128", "proxy:3128"],
  ["user:secret@proxy:3128", "…@proxy:3128"],
  ["http://", "http://"],
  ["http://user:100%secret@proxy:3128", "http://…@proxy:3128"],
  ["http://user:sec@ret@:80:80", "http://…@:80:80"],
])("%s is none, which is told without its password", (text, shown) => {
  let error: unknown;
  try {
    parseProxyUrl(text, 'kubeconfig k: cluster "c" has proxy-url');
  } catch (thrown) {
    error = thrown;
  }

  expect(error).toSatisfy(isInvalidInput);
  expect(messageOf(error)).toBe(
    `kubeconfig k: cluster "c" has proxy-url "${shown}", expected a URL such as http://proxy:3128, https://user:password@proxy or socks5://proxy:1080`,
  );
});

test("a proxy is shown without its password", () => {
  expect(shownProxy(new URL("https://user:password@proxy:3128/path"))).toBe("https://proxy:3128");
});
