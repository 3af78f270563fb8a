package main

import (
	"encoding/json"
	"log"
	"net"
)

// A UDPAnswer is the datagram that each datagram is answered with.
type UDPAnswer struct {
	Request string `json:"request"`
	Pod
}

func serveUDP(pod Pod, port string) error {
	socket, err := net.ListenPacket("udp", ":"+port)
	if err != nil {
		return err
	}
	log.Printf("listening on port %s for datagrams", port)
	return answerDatagrams(socket, pod)
}

func answerDatagrams(socket net.PacketConn, pod Pod) error {
	buffer := make([]byte, 64<<10)
	for {
		length, from, err := socket.ReadFrom(buffer)
		if err != nil {
			return err
		}
		answer, err := json.Marshal(UDPAnswer{Request: string(buffer[:length]), Pod: pod})
		if err != nil {
			return err
		}
		if _, err := socket.WriteTo(answer, from); err != nil {
			log.Printf("answer to %s: %v", from, err)
		}
	}
}
