"""What becomes of a turn that two databases know differently.

``join`` is the least upper bound of a lattice: whatever is brought together, in whatever order and however
often, the result is the same. What makes it so:

* the *reading* of a turn (its text length, its session, its time) is one value of a total order: one that a
  person settled beats any other, a longer one beats a shorter one, and one whose chunks maintenance removed
  yields to every other;
* each part is one value of a total order: as read < edited (of two edits the later one) < deleted. What was
  as read in a reading that yields is forgotten; edits and deletions hold for every reading;
* a turn that a person deleted as a whole stays deleted;
* an answer that a hook told goes with what a person deletes and with a reading that yields;
* marks are joined as sets; they go with a part that goes.
"""

from __future__ import annotations

from kizami_core.storage.turn_states import TurnState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kizami_core.storage.turn_states import Part

_RANKS = ("dropped", "open", "settled")
_READING = "session_id tie reading text_length part_count awaited_answer awaited_after".split()


def join(one: TurnState, other: TurnState) -> TurnState:
    """Return what is known of a turn when both are (they have the same uuid)."""
    higher = max(one, other, key=reading_order)
    counted = [state for state in (one, other) if reading_order(state) == reading_order(higher)]
    is_deleted = one.is_deleted or other.is_deleted
    deleted = one.deleted_parts | other.deleted_parts
    parts: dict[int, Part] = {}
    if not is_deleted:
        for number in sorted((set(one.parts) | set(other.parts)) - deleted):
            known = [state.parts[number] for state in (one, other) if number in state.parts]
            valid = [part for part in known if part.edited_at]
            valid += [state.parts[number] for state in counted if number in state.parts]
            if valid:
                marks = sorted({mark for part in known for mark in part.marks})
                parts[number] = max(valid, key=_part_order).replace(marks=tuple(marks))
    reading = {name: getattr(higher, name) for name in _READING}
    if (is_deleted or deleted or higher.reading == "dropped") and higher.awaited_answer:
        reading["awaited_answer"] = ""
    return TurnState(
        uuid=one.uuid,
        # The unidentified one's says up to when later saves keep away; it only grows.
        started_at=max(one.started_at, other.started_at) if one.is_unidentified else higher.started_at,
        is_deleted=is_deleted,
        deleted_parts=frozenset() if is_deleted else deleted,
        parts=parts,
        **reading,
    )


def reading_order(state: TurnState) -> tuple[object, ...]:
    """Return the key of the total order of readings, the one that counts last."""
    return (
        # The chunks without a turn come from no reading: all of them count.
        0 if state.is_unidentified else _RANKS.index(state.reading),
        state.text_length,
        # A reading no longer than another one that holds the answer a hook told is the older one.
        -1 if state.awaited_after is None else state.awaited_after,
        state.part_count,
        state.session_id,
        "" if state.is_unidentified else state.started_at,
        state.tie,
        # Last, because it goes with what is deleted: what stands before it must not depend on that.
        state.awaited_answer or "",
    )


def _part_order(part: Part) -> tuple[object, ...]:
    return (
        part.edited_at or "",
        part.content,
        part.role,
        part.metadata,
        part.created_at,
        part.token_count,
    )
