import { expect, test } from "vitest";
import { expand } from "./expansion.ts";

const variables: Readonly<Record<string, string>> = { VAR_A: "A", VAR_B: "B", VAR_C: "C", VAR_REF: "$(VAR_A)", VAR_EMPTY: "" };

/** The table of kubernetes v1.36.3 third_party/forked/golang/expansion/expand_test.go. */
test.each([
  ["whole string", "$(VAR_A)", "A"],
  ["repeat", "$(VAR_A)-$(VAR_A)", "A-A"],
  ["beginning", "$(VAR_A)-1", "A-1"],
  ["middle", "___$(VAR_B)___", "___B___"],
  ["end", "___$(VAR_C)", "___C"],
  ["compound", "$(VAR_A)_$(VAR_B)_$(VAR_C)", "A_B_C"],
  ["escape & expand", "$$(VAR_B)_$(VAR_A)", "$(VAR_B)_A"],
  ["compound escape", "$$(VAR_A)_$$(VAR_B)", "$(VAR_A)_$(VAR_B)"],
  ["mixed in escapes", "f000-$$VAR_A", "f000-$VAR_A"],
  ["backslash is no escape", "foo\\$(VAR_C)bar", "foo\\Cbar"],
  ["two backslashes are none either", "foo\\\\$(VAR_C)bar", "foo\\\\Cbar"],
  ["lots of backslashes", "foo\\\\\\\\$(VAR_A)bar", "foo\\\\\\\\Abar"],
  ["nested references", "$(VAR_A$(VAR_B))", "$(VAR_A$(VAR_B))"],
  ["nested references, one closed", "$(VAR_A$(VAR_B)", "$(VAR_A$(VAR_B)"],
  ["value is a reference", "$(VAR_REF)", "$(VAR_A)"],
  ["value is a reference, twice", "%%$(VAR_REF)--$(VAR_REF)%%", "%%$(VAR_A)--$(VAR_A)%%"],
  ["empty variable", "foo$(VAR_EMPTY)bar", "foobar"],
  ["unterminated", "foo$(VAR_Awhoops!", "foo$(VAR_Awhoops!"],
  ["without operator", "f00__(VAR_A)__", "f00__(VAR_A)__"],
  ["shell's special variables", "$?_boo_$!", "$?_boo_$!"],
  ["bare operator", "$VAR_A", "$VAR_A"],
  ["unknown variable", "$(VAR_DNE)", "$(VAR_DNE)"],
  ["six operators, unknown", "$$$$$$(BIG_MONEY)", "$$$(BIG_MONEY)"],
  ["six operators, known", "$$$$$$(VAR_A)", "$$$(VAR_A)"],
  ["seven operators, unknown", "$$$$$$$(GOOD_ODDS)", "$$$$(GOOD_ODDS)"],
  ["seven operators, known", "$$$$$$$(VAR_A)", "$$$A"],
  ["missing opener", "$VAR_A)", "$VAR_A)"],
  ["shell's braces", "${VAR_A}", "${VAR_A}"],
  ["trailing incomplete", "$(VAR_B)_______$(A", "B_______$(A"],
  ["trailing opener", "$(VAR_C)_______$(", "C_______$("],
  ["escaped operator at the end", "$(VAR_A)$$", "A$"],
  ["two operators alone", "$$", "$"],
  ["reference to the empty name", "$()", "$()"],
  ["operator at the end", "$(VAR_A)foobarzab$", "Afoobarzab$"],
  ["escaped for the shell, incomplete", "foo-\\$(VAR_A", "foo-\\$(VAR_A"],
  ["many openers in the middle", "--$($($($($--", "--$($($($($--"],
  ["many openers in front", "$($($($($--foo$(", "$($($($($--foo$("],
  ["many openers at the end", "foo0--$($($($(", "foo0--$($($($("],
  ["operators in names", "$(foo$$var)", "$(foo$$var)"],
  ["newline", "\n", "\n"],
  ["pound sign", "$£FOO", "$£FOO"],
  ["euro sign", "prefix-$€-suffix", "prefix-$€-suffix"],
  ["Chinese", "$中文", "$中文"],
  ["outside the basic plane", "$😀$(VAR_A)", "$😀A"],
])("expand: %s", (_, input, expected) => {
  expect(expand(input, (name) => variables[name])).toBe(expected);
});
