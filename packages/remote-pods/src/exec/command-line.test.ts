import { expect, test } from "vitest";
import { toCommandLine } from "./command-line.ts";

test("words are quoted for the shell where they need it", () => {
  expect(toCommandLine(["sh", "-c", "echo 'a' $HOME", "", "a/b=c"])).toBe(`sh -c 'echo '\\''a'\\'' $HOME' '' a/b=c`);
});
