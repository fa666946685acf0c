"""Chapter 17: beam search, the filters before a draw, the narrowest beam that escapes the greedy trap, the slide's
generateBeam, repaired, and a beam that draws."""
