import { expect, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { type Member, Roster } from "../../../src/domain/structures/Roster.ts"

interface Named extends Member {
  readonly name: number
}

const makeMembers = (count: number): ReadonlyArray<Named> =>
  Array.from({ length: count }, (_, name) => ({ name, rosterIndex: -1 }))

const namesIn = (roster: Roster<Named>): ReadonlyArray<number> => {
  const names: Array<number> = []
  roster.each(({ name }) => names.push(name))
  return names.toSorted((one, other) => one - other)
}

const steps = fc.array(fc.record({ name: fc.nat(9), adds: fc.boolean() }), { maxLength: 60 })

test("it has the members that a set would have", () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const members = makeMembers(10)
      const roster = new Roster<Named>()
      const set = new Set<number>()
      for (const { name, adds } of taken) {
        const member = members[name]
        if (member === undefined) continue
        if (adds) {
          roster.add(member)
          set.add(name)
        } else {
          roster.delete(member)
          set.delete(name)
        }
      }
      expect(namesIn(roster)).toEqual([...set].toSorted((one, other) => one - other))
      expect(roster.size).toBe(set.size)
    }),
  )
})

test("while its members are visited, any may be deleted and others added: each that stays is visited", () => {
  fc.assert(
    fc.property(fc.array(steps, { minLength: 10, maxLength: 10 }), (changes) => {
      const members = makeMembers(10)
      const added = new Set<number>()
      const deleted = new Set<number>()
      const visited = new Set<number>()
      const roster = new Roster<Named>()
      for (const member of members.slice(0, 7)) roster.add(member)
      roster.each(({ name }) => {
        expect(deleted.has(name) && !added.has(name)).toBe(false)
        visited.add(name)
        for (const change of changes[name] ?? []) {
          const member = members[change.name]
          if (member === undefined) continue
          if (change.adds) {
            if (!roster.has(member)) added.add(change.name)
            roster.add(member)
          } else {
            deleted.add(change.name)
            roster.delete(member)
          }
        }
      })
      for (const { name } of members.slice(0, 7)) if (!deleted.has(name)) expect(visited.has(name)).toBe(true)
    }),
  )
})
