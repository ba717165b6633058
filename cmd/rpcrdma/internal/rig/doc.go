// Package rig is what tests of several commands share: files to copy, and a server that forgets.
package rig
