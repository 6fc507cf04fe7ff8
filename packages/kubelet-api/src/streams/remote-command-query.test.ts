import { expect, test } from "vitest";
import { Refusal } from "../server/refusal.ts";
import { parseRemoteCommandQuery } from "./remote-command-query.ts";

test("reads streams and the command, an argument each", () => {
  expect(parseRemoteCommandQuery("command=sh&command=-c&command=exit+7&input=1&output=1&error=1")).toEqual({
    stdin: true,
    stdout: true,
    stderr: true,
    tty: false,
    command: ["sh", "-c", "exit 7"],
  });
});

test("a terminal has no separate standard error", () => {
  expect(parseRemoteCommandQuery("output=1&error=1&tty=1")).toMatchObject({ stdout: true, stderr: false, tty: true });
});

test("only the value 1 means true", () => {
  expect(parseRemoteCommandQuery("output=1&input=true&error=yes&tty=")).toMatchObject({ stdin: false, stderr: false, tty: false });
});

test.each(["", "tty=1", "error=1&tty=1", "output=true", "stdout=1"])("%j requests no stream, and is refused", (query) => {
  expect(() => parseRemoteCommandQuery(query)).toThrow(new Refusal(400, "you must specify at least 1 of stdin, stdout, stderr"));
});
