import { expect, test } from "vitest";
import { homeDirectory } from "./home-directory.ts";

test("a user without a home folder has the root's, and no relative one", () => {
  const none = (): string => {
    throw new Error("uv_os_homedir returned ENOENT");
  };

  expect(homeDirectory(none)).toBe("/");
  expect(homeDirectory(() => "")).toBe("/");
  expect(homeDirectory(() => "/home/me")).toBe("/home/me");
});
